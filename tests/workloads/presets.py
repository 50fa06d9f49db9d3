"""Sizes of the configuration's presets, and what a workload should compute with the small ones."""

import inspect

import numpy as np

from stackwars import workloads
from stackwars.measure.inputs import input_sets
from stackwars.study.config import load
from stackwars.workloads import values

CONFIG = load()
SMALL, FULL = (CONFIG["presets"][name]["sizes"] for name in ("smoke", "full"))
UPDATING = [name for name in SMALL if hasattr(workloads.load(name), "STATE")]
BASIC = [name for name in SMALL if workloads.load(name).KIND == "basic"]
SEED = 0


def weights(name: str) -> dict[str, np.ndarray]:
    shapes = workloads.load(name).parameters(SMALL[name])
    return {key: values.leaf(key, shape, SEED) for key, shape in shapes.items()}


def expected(name: str, calls: int = 1) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The reference's outputs of calls that alternate between the sets of inputs, and the state after them."""
    module, sizes = workloads.load(name), SMALL[name]
    sets = input_sets(module, sizes, SEED)
    asked = inspect.signature(module.reference).parameters
    chosen = {size: sizes[size] for size in asked if size in sizes}
    if "filled" in asked:
        chosen["filled"] = module.state(sizes, SEED)
    if name in UPDATING:
        batches = [sets[call % 2] for call in range(calls)]
        return module.reference(weights(name), batches, **chosen)
    return [module.reference(weights(name), sets[call % 2], **chosen) for call in range(calls)], {}
