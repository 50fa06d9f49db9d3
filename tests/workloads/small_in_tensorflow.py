"""Computes all small workloads in TensorFlow, with XLA and without it.

`python -m workloads.small_in_tensorflow FOLDER`

Workloads that have no form in TensorFlow are left out, and with XLA those that it gets wrong.
"""

import importlib
import sys
from pathlib import Path

import numpy as np

from stackwars import workloads
from stackwars.frameworks import tensorflow_xla
from workloads.sizes import SMALL

tf = tensorflow_xla.load()


def outputs(name: str, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Of each framework the output."""
    module = importlib.import_module(f"stackwars.workloads.{name}.in_tensorflow")
    inputs = [tf.constant(array) for array in workloads.load(name).inputs(sizes, 0).values()]
    parameters, function = module.build(sizes, 0, tf.Variable)
    compiled = {"tensorflow_xla": True, "tensorflow_graph": False}
    if getattr(function, "SIZES_FROM_VALUES", False):
        del compiled["tensorflow_xla"]
    return {
        kind: tf.function(lambda *given: function(parameters, *given), jit_compile=jit)(*inputs).numpy()
        for kind, jit in compiled.items()
    }


if __name__ == "__main__":
    results = {"tensorflow_xla": {}, "tensorflow_graph": {}}
    for name, sizes in SMALL.items():
        try:
            found = outputs(name, sizes)
        except NotImplementedError as error:
            print(f"{name}: {error}")
        else:
            for kind, output in found.items():
                results[kind][name] = output
    for kind, arrays in results.items():
        np.savez(Path(sys.argv[1]) / f"{kind}.npz", **arrays)
