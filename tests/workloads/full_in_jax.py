"""Builds all workloads at full size without any values: names, shapes, weights, FLOPs.

`python -m workloads.full_in_jax` prints {workload: [weights, FLOPs that XLA counts]} as JSON, of workloads
that have a form in JAX. XLA counts the body of a loop once, whatever the number of steps: scans are unrolled
here, so that it counts every step.
"""

import functools
import importlib
import json
from unittest import mock

import jax
import numpy as np

from stackwars import workloads
from stackwars.workloads import values
from workloads.sizes import FULL


def shape_of(array: np.ndarray) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def described(name: str, sizes: dict[str, int]) -> list[float] | None:
    module = importlib.import_module(f"stackwars.workloads.{name}.in_jax")
    try:
        parameters, function = module.build(sizes, 0, shape_of)
    except NotImplementedError:
        return None
    inputs = workloads.load(name).inputs(sizes, 0)
    # A product of which each row has one of several matrices. On a CPU JAX writes it as one of every row with
    # every matrix, as many times the operations as there are matrices: here each row is multiplied by one.
    with mock.patch.object(jax.lax, "ragged_dot", lambda rows, matrices, _: rows @ matrices[0]):
        lowered = jax.jit(function).lower(parameters, *inputs.values())
    weights = sum(leaf.size for leaf in jax.tree.leaves(parameters))
    return [weights, lowered.cost_analysis()["flops"]]


if __name__ == "__main__":
    # Values without memory: the 32 GB of LLaMA are described in seconds.
    empty = mock.patch.object(values, "leaf", lambda _, s, __: np.broadcast_to(np.float32(0), s))
    unrolled = mock.patch.object(jax.lax, "scan", functools.partial(jax.lax.scan, unroll=True))
    with empty, unrolled:
        found = {name: described(name, sizes) for name, sizes in FULL.items()}
    print(json.dumps({name: pair for name, pair in found.items() if pair}))
