"""Computes all small workloads in TensorFlow, with XLA and without it.

`python -m workloads.small_in_tensorflow FOLDER`

Workloads that have no form in TensorFlow are left out.
"""

import importlib
import sys
from pathlib import Path

import numpy as np

from stackwars import workloads
from stackwars.frameworks import tensorflow_xla
from workloads.sizes import SMALL

tf = tensorflow_xla.load()


def outputs(name: str, sizes: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    module = importlib.import_module(f"stackwars.workloads.{name}.in_tensorflow")
    inputs = [tf.constant(array) for array in workloads.load(name).inputs(sizes, 0).values()]
    parameters, function = module.build(sizes, 0, tf.Variable)
    xla, graph = (
        tf.function(lambda *given: function(parameters, *given), jit_compile=jit)(*inputs)
        for jit in (True, False)
    )
    return xla.numpy(), graph.numpy()


if __name__ == "__main__":
    results = {}
    for name, sizes in SMALL.items():
        try:
            results[name] = outputs(name, sizes)
        except NotImplementedError as error:
            print(f"{name}: {error}")
    for index, kind in enumerate(("tensorflow_xla", "tensorflow_graph")):
        pairs = {workload: both[index] for workload, both in results.items()}
        np.savez(Path(sys.argv[1]) / f"{kind}.npz", **pairs)
