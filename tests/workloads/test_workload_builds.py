"""What a build makes: every weight once, one at a time, and nothing else."""

import json

import pytest

from stackwars import workloads
from workloads.sizes import FULL, NOT_IN_JAX

pytestmark = pytest.mark.env

CHECKS_IN_TORCH = """
import weakref
import torch
from stackwars.workloads import bert_base, hf_torch
from stackwars.workloads.bert_base import in_torch as bert
from stackwars.workloads.gpt2_small import in_torch as gpt2
from stackwars.workloads.gpt_neo_1p3b import in_torch as gpt_neo
from stackwars.workloads.llama3_8b import in_torch as llama
from workloads.sizes import SMALL

made = []
def put(array):
    made[:] = [ref for ref in made if ref() is not None]
    assert not made, "a host copy of an earlier leaf is still alive"
    made.append(weakref.ref(array))
    return torch.from_numpy(array.copy())

model = gpt2.build(SMALL["gpt2_small"], 0, put).model
assert model.lm_head.weight is model.transformer.wte.weight
assert not model.training and not any(p.requires_grad for p in model.parameters())
assert model.transformer.h[1].attn.bias.tolist() == torch.ones(8, 8).tril().bool()[None, None].tolist()

model = gpt_neo.build(SMALL["gpt_neo_1p3b"], 0, put).model
assert model.lm_head.weight is model.transformer.wte.weight
layers = [layer.attn.attention.bias[0, 0, 7].tolist() for layer in model.transformer.h]
assert layers == [[True] * 8, [False] * 4 + [True] * 4]

model = llama.build(SMALL["llama3_8b"], 0, put).model
for module in model.modules():
    for name, value in vars(module).items():
        assert not (isinstance(value, torch.Tensor) and value.is_meta), name

def refused(change):
    shapes = bert_base.parameters(SMALL["bert_base"])
    change(shapes)
    try:
        bert.parameters = lambda sizes: shapes
        bert.build(SMALL["bert_base"], 0, put)
    except ValueError as error:
        return str(error)

assert "left over ['embeddings.LayerNorm.bias']" in refused(lambda s: s.pop("embeddings.LayerNorm.bias"))
assert "missing ['extra']" in refused(lambda s: s.update(extra=(1,)))
"""

CHECKS_IN_JAX = """
import weakref
import jax
import numpy as np
from stackwars.workloads import bert_base
from stackwars.workloads.bert_base import in_jax as bert
from workloads.sizes import SMALL

made = []
def put(array):
    owner = array if array.base is None else array.base
    made[:] = [ref for ref in made if ref() is not None]
    assert not made, "a host copy of an earlier leaf is still alive"
    made.append(weakref.ref(owner))
    return jax.device_put(np.array(array))

bert.build(SMALL["bert_base"], 0, put)

def refused(change):
    shapes = bert_base.parameters(SMALL["bert_base"])
    change(shapes)
    try:
        bert.parameters = lambda sizes: shapes
        bert.build(SMALL["bert_base"], 0, put)
    except ValueError as error:
        return str(error)

assert "left over ['embeddings.LayerNorm.bias']" in refused(lambda s: s.pop("embeddings.LayerNorm.bias"))
assert "missing ['extra']" in refused(lambda s: s.update(extra=(1,)))
"""

CHECKS_IN_TENSORFLOW = """
import weakref
import tensorflow as tf
import tf_keras
from stackwars.workloads import bert_base
from stackwars.workloads.bert_base import in_tensorflow as bert
from stackwars.workloads.gpt2_small import in_tensorflow as gpt2
from workloads.sizes import SMALL

made, names = [], []
def put(array):
    owner = array if array.base is None else array.base
    made[:] = [ref for ref in made if ref() is not None]
    assert not made, "a host copy of an earlier leaf is still alive"
    made.append(weakref.ref(owner))
    names.append(tf.Variable(tf.constant(array)))
    return names[-1]

model, _ = bert.build(SMALL["bert_base"], 0, put)
assert isinstance(model, tf_keras.Model)
assert {id(v) for v in model.variables} == {id(v) for v in names}

model, _ = gpt2.build(SMALL["gpt2_small"], 0, put)
assert model.transformer.h[0].attn.c_attn.bias.shape == (96,)

def refused(change):
    shapes = bert_base.parameters(SMALL["bert_base"])
    change(shapes)
    try:
        bert.parameters = lambda sizes: shapes
        bert.build(SMALL["bert_base"], 0, put)
    except ValueError as error:
        return str(error)

assert "left over ['embeddings.LayerNorm.bias']" in refused(lambda s: s.pop("embeddings.LayerNorm.bias"))
assert "missing ['extra']" in refused(lambda s: s.update(extra=(1,)))
assert "another shape ['embeddings.LayerNorm.bias']" in refused(
    lambda s: s.update({"embeddings.LayerNorm.bias": (7,)})
)
"""


@pytest.mark.parametrize(
    ("dialect", "checks"),
    [("torch", CHECKS_IN_TORCH), ("jax", CHECKS_IN_JAX), ("tensorflow", CHECKS_IN_TENSORFLOW)],
)
def test_leaves_are_made_one_by_one_and_named_once(in_dialect, dialect, checks):
    in_dialect(dialect, "-c", checks)


def test_full_sizes_in_jax_and_flops_within_a_tenth_of_those_xla_counts(in_dialect):
    found = json.loads(in_dialect("jax", "-m", "workloads.full_in_jax"))
    assert list(found) == [name for name in FULL if name not in NOT_IN_JAX]
    for name, (weights, flops) in found.items():
        module = workloads.load(name)
        assert weights == module.parameter_count(FULL[name]), name
        if module.flops(FULL[name]):
            assert module.flops(FULL[name]) == pytest.approx(flops, rel=0.1), name


def test_full_sizes_in_torch_with_masks_no_longer_than_the_sequence(in_dialect):
    found = json.loads(in_dialect("torch", "-m", "workloads.full_in_torch"))
    assert list(found) == list(FULL)
    for name, (weights, constants) in found.items():
        assert weights == workloads.load(name).parameter_count(FULL[name]), name
        assert constants <= 100_000, name
