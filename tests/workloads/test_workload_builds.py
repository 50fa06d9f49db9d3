"""What a build makes: every weight once, one at a time, and nothing else."""

import json

import pytest

from stackwars.measure import workloads
from workloads.presets import FULL, SMALL

pytestmark = pytest.mark.env

ONE_BY_ONE = """
import json, sys, weakref
import numpy as np
from stackwars.measure import workloads
from stackwars.measure.workloads.bert_base import WORKLOAD as bert
SMALL, dialect = json.loads(sys.argv[1]), sys.argv[2]

made = []
def alone(array):
    owner = array if array.base is None else array.base
    made[:] = [ref for ref in made if ref() is not None]
    assert not made, "a host copy of an earlier leaf is still alive"
    made.append(weakref.ref(owner))
    return np.array(array)

def built(name, put):
    return workloads.build(name, dialect)(SMALL[name], 0, lambda array: put(alone(array)))

def refused(put, change):
    shapes = type(bert).parameters(bert, SMALL["bert_base"])
    change(shapes)
    bert.parameters = lambda sizes: shapes
    try:
        built("bert_base", put)
    except ValueError as error:
        return str(error)

def check_refusals(put):
    name = "embeddings.LayerNorm.bias"
    assert f"left over ['{name}']" in refused(put, lambda s: s.pop(name))
    assert "missing ['extra']" in refused(put, lambda s: s.update(extra=(1,)))
    assert f"another shape ['{name}']" in refused(put, lambda s: s.update({name: (7,)}))
"""

CHECKS = {
    "torch": """
import torch
put = torch.from_numpy
model = built("gpt2_small", put).model
assert model.lm_head.weight is model.transformer.wte.weight
assert not model.training and not any(p.requires_grad for p in model.parameters())
assert model.transformer.h[1].attn.bias.tolist() == torch.ones(8, 8).tril().bool()[None, None].tolist()

model = built("gpt_neo_1p3b", put).model
assert model.lm_head.weight is model.transformer.wte.weight
layers = [layer.attn.attention.bias[0, 0, 7].tolist() for layer in model.transformer.h]
assert layers == [[True] * 8, [False] * 4 + [True] * 4]

model = built("llama3_8b", put).model
for module in model.modules():
    for name, value in vars(module).items():
        assert not (isinstance(value, torch.Tensor) and value.is_meta), name
check_refusals(put)
""",
    "jax": """
import jax
built("bert_base", jax.device_put)
check_refusals(jax.device_put)
""",
    "tensorflow": """
import tensorflow as tf
variables = []
def put(array):
    variables.append(tf.Variable(tf.constant(array)))
    return variables[-1]

model, _ = built("bert_base", put)
import tf_keras
assert isinstance(model, tf_keras.Model)
assert {id(v) for v in model.variables} == {id(v) for v in variables}
model, _ = built("gpt2_small", put)
assert model.transformer.h[0].attn.c_attn.bias.shape == (96,)
check_refusals(put)
""",
}

WITHOUT_VALUES = """
import functools, json, sys
from unittest import mock
import numpy as np
from stackwars.measure import workloads
from stackwars.measure.workloads import values
# Values without memory: the 32 GB of LLaMA are described in seconds.
values.leaf = lambda _, shape, __: np.broadcast_to(np.float32(0), shape)

def described_all(described, dialect):
    found = {}
    for name, sizes in json.loads(sys.argv[1]).items():
        if dialect not in workloads.load(name).NO_FORM:
            found[name] = described(name, sizes, workloads.build(name, dialect))
    print(json.dumps(found))
"""

FULL_IN_JAX = """
import jax
# XLA counts the body of a loop once, whatever the number of steps: unrolled, it counts every step.
jax.lax.scan = functools.partial(jax.lax.scan, unroll=True)
# A product of which each row has one of several matrices. On a CPU JAX writes it as one of every row with
# every matrix, as many times the operations as there are matrices: here each row is multiplied by one.
jax.lax.ragged_dot = lambda rows, matrices, _: rows @ matrices[0]

def shape_of(array):
    return jax.ShapeDtypeStruct(array.shape, array.dtype)

def described(name, sizes, build):
    parameters, function = build(sizes, 0, shape_of)
    inputs = workloads.load(name).inputs(sizes, 0)
    flops = jax.jit(function).lower(parameters, *inputs.values()).cost_analysis()["flops"]
    return [sum(leaf.size for leaf in jax.tree.leaves(parameters)), flops]

described_all(described, "jax")
"""

FULL_IN_TORCH = """
import torch

class Put(torch.Tensor):
    "Marks what came through put, still on the meta device."

def described(name, sizes, build):
    module = build(sizes, 0, lambda a: torch.empty(a.shape, device="meta").as_subclass(Put))
    weights, constants = sum(leaf.numel() for leaf in module.parameters()), 0
    for key, leaf in module.named_buffers():
        assert isinstance(leaf, Put), key
        weights += leaf.numel() if "running_" in key else 0
        constants += leaf.numel() if "running_" not in key else 0
    return [weights, constants]

described_all(described, "torch")
"""
STATELESS = {n: s for n, s in FULL.items() if not hasattr(workloads.load(n), "STATE")}


@pytest.mark.parametrize("dialect", CHECKS)
def test_leaves_are_made_one_by_one_and_named_once(in_dialect, dialect):
    in_dialect(dialect, "-c", ONE_BY_ONE + CHECKS[dialect], json.dumps(SMALL), dialect)


def test_full_sizes_in_jax_and_flops_within_a_tenth_of_those_xla_counts(in_dialect):
    found = json.loads(in_dialect("jax", "-c", WITHOUT_VALUES + FULL_IN_JAX, json.dumps(STATELESS)))
    assert found
    for name, (weights, flops) in found.items():
        module = workloads.load(name)
        assert weights == module.parameter_count(FULL[name]), name
        if module.flops(FULL[name]):
            assert module.flops(FULL[name]) == pytest.approx(flops, rel=0.1), name


def test_full_sizes_in_torch_with_masks_no_longer_than_the_sequence(in_dialect):
    code = WITHOUT_VALUES + FULL_IN_TORCH
    found = json.loads(in_dialect("torch", "-c", code, json.dumps(STATELESS)))
    assert found.keys() == STATELESS.keys()
    for name, (weights, constants) in found.items():
        assert weights == workloads.load(name).parameter_count(FULL[name]), name
        assert constants <= 100_000, name
