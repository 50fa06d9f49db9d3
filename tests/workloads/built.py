"""Builds workloads in a dialect and prints what a test asks, as JSON: `python -m workloads.built DIALECT`.

Standard input has {"small": {workload: sizes}, "full": {workload: sizes}, "rope": sizes of llama3_8b}.
"""

import functools
import json
import sys
import weakref
from collections.abc import Callable

import numpy as np

from stackwars.measure import workloads
from stackwars.measure.workloads import llama3_8b, values
from stackwars.measure.workloads.bert_base import WORKLOAD as bert

WIDTH, POSITIONS = 128, 8192  # of a head of LLaMA-3.1 8B

made: list[weakref.ref] = []


def alone(array: np.ndarray) -> np.ndarray:
    """Copy a leaf; no host copy of an earlier one may be alive."""
    owner = array if array.base is None else array.base
    made[:] = [ref for ref in made if ref() is not None]
    assert not made, "a host copy of an earlier leaf is still alive"
    made.append(weakref.ref(owner))
    return np.array(array)


def built(name: str, put: Callable):
    return workloads.build(name, dialect)(small[name], 0, lambda array: put(alone(array)))


def check_refusals(put: Callable) -> None:
    name = "embeddings.LayerNorm.bias"
    for change, expected in (
        (lambda shapes: shapes.pop(name), f"left over ['{name}']"),
        (lambda shapes: shapes.update(extra=(1,)), "missing ['extra']"),
        (lambda shapes: shapes.update({name: (7,)}), f"another shape ['{name}']"),
    ):
        shapes = bert.parameters(small["bert_base"])
        change(shapes)
        bert.parameters = lambda sizes, shapes=shapes: shapes
        try:
            built("bert_base", put)
        except ValueError as error:
            assert expected in str(error)
        else:
            raise AssertionError(f"expected a refusal, {expected}")
        finally:
            del bert.parameters


def described(describe: Callable) -> dict[str, list]:
    """What a function of name, sizes and build finds of each workload at full size; leaves have no memory."""
    # The 32 GB of LLaMA are described in seconds.
    values.leaf = lambda _, shape, __: np.broadcast_to(np.float32(0), shape)
    return {
        name: describe(name, sizes, workloads.build(name, dialect))
        for name, sizes in request["full"].items()
        if dialect not in workloads.load(name).NO_FORM
    }


def in_torch() -> dict:
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

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
    rotary = LlamaRotaryEmbedding(LlamaConfig(**llama3_8b.WORKLOAD.hf_config(request["rope"])))
    cos, sin = rotary(torch.zeros(1), torch.arange(POSITIONS)[None])
    assert rotary.attention_scaling == 1

    class Put(torch.Tensor):
        """Marks what came through put, still on the meta device."""

    def describe(name, sizes, build):
        module = build(sizes, 0, lambda a: torch.empty(a.shape, device="meta").as_subclass(Put))
        weights, constants = sum(leaf.numel() for leaf in module.parameters()), 0
        for key, leaf in module.named_buffers():
            assert isinstance(leaf, Put), key
            weights += leaf.numel() if "running_" in key else 0
            constants += leaf.numel() if "running_" not in key else 0
        return [weights, constants]

    rope = [rotary.inv_freq.tolist(), sin[0, ::997].tolist(), cos[0, ::997].tolist()]
    return {"rope": rope, "full": described(describe)}


def in_jax() -> dict:
    import jax

    built("bert_base", jax.device_put)
    check_refusals(jax.device_put)
    rows = llama3_8b.table_in_jax(jax, POSITIONS, WIDTH)[::997, 0]
    # XLA counts the body of a loop once, whatever the number of steps: unrolled, it counts every step.
    jax.lax.scan = functools.partial(jax.lax.scan, unroll=True)
    # A product of which each row has one of several matrices. On a CPU JAX writes it as one of every row with
    # every matrix, as many times the operations as there are matrices: here each row is multiplied by one.
    jax.lax.ragged_dot = lambda rows, matrices, _: rows @ matrices[0]

    def describe(name, sizes, build):
        parameters, function = build(sizes, 0, lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype))
        inputs = workloads.load(name).inputs(sizes, 0)
        flops = jax.jit(function).lower(parameters, *inputs.values()).cost_analysis()["flops"]
        return [sum(leaf.size for leaf in jax.tree.leaves(parameters)), flops]

    rope = [llama3_8b.inverse_frequencies(WIDTH).tolist(), rows[:, :WIDTH].tolist(), rows[:, WIDTH:].tolist()]
    return {"rope": rope, "full": described(describe)}


if __name__ == "__main__":
    dialect, request = sys.argv[1], json.loads(sys.stdin.read())
    small = request["small"]
    print(json.dumps({"torch": in_torch, "jax": in_jax}[dialect]()))
