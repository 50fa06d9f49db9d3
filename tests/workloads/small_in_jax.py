"""Computes all small workloads in JAX: `python -m workloads.small_in_jax FOLDER`.

Workloads that have no form in JAX are left out.
"""

import importlib
import sys
from pathlib import Path

import jax
import numpy as np

from stackwars import workloads
from workloads.sizes import SMALL


def output(name: str, sizes: dict[str, int]) -> np.ndarray:
    module = importlib.import_module(f"stackwars.workloads.{name}.in_jax")
    parameters, function = module.build(sizes, 0, jax.device_put)
    inputs = workloads.load(name).inputs(sizes, 0)
    return np.asarray(jax.jit(function)(parameters, *inputs.values()))


if __name__ == "__main__":
    results = {}
    for name, sizes in SMALL.items():
        try:
            results[name] = output(name, sizes)
        except NotImplementedError as error:
            print(f"{name}: {error}")
    np.savez(Path(sys.argv[1]) / "jax.npz", **results)
