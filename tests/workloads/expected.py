"""The float64 reference of a workload, with the sizes that it asks for."""

import inspect

import numpy as np

from stackwars import workloads
from stackwars.workloads import values


def reference(
    name: str, sizes: dict[str, int], seed: int = 0
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Weights, inputs and output of a basic workload; a reference names the sizes that it needs."""
    module = workloads.load(name)
    shapes = module.parameters(sizes)
    weights = {key: values.leaf(key, shape, seed) for key, shape in shapes.items()}
    inputs = module.inputs(sizes, seed)
    asked = inspect.signature(module.reference).parameters.keys() & sizes.keys()
    chosen = {size: sizes[size] for size in asked}
    return weights, inputs, module.reference(weights, inputs, **chosen)
