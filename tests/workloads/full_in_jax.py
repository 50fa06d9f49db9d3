"""Builds all workloads at full size without any values: names, shapes, weights, FLOPs.

`python -m workloads.full_in_jax` prints {workload: [weights, FLOPs that XLA counts]} as JSON.
"""

import importlib
import json
from unittest import mock

import jax
import numpy as np

from stackwars import workloads
from stackwars.workloads import values
from workloads.sizes import FULL


def described(name: str, sizes: dict[str, int]) -> list[float]:
    module = importlib.import_module(f"stackwars.workloads.{name}.in_jax")
    parameters, function = module.build(sizes, 0, lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype))
    inputs = workloads.load(name).inputs(sizes, 0)
    lowered = jax.jit(function).lower(parameters, *inputs.values())
    weights = sum(leaf.size for leaf in jax.tree.leaves(parameters))
    return [weights, lowered.cost_analysis()["flops"]]


if __name__ == "__main__":
    # Values without memory: the 32 GB of LLaMA are described in seconds.
    empty = mock.patch.object(values, "leaf", lambda _, s, __: np.broadcast_to(np.float32(0), s))
    with empty:
        print(json.dumps({name: described(name, sizes) for name, sizes in FULL.items()}))
