"""Sizes of the configuration's presets, and what a workload should compute with the small ones."""

from functools import cache

import numpy as np

from stackwars.measure import workloads
from stackwars.measure.checks import relative_l2
from stackwars.study.config import load

CONFIG = load()
CLASSES = [name for name in workloads.names() if workloads.load(name).DEFAULTS is None]
"""Workloads that are no files of functions, which declare less."""
SMALL, FULL = (
    {name: sizes for name, sizes in CONFIG.presets[preset].sizes.items() if name in CLASSES}
    for preset in ("smoke", "full")
)
ODD = CONFIG.odd_sizes.workloads
UPDATING = [name for name in SMALL if workloads.load(name).STATE]
BASIC = [name for name in SMALL if workloads.load(name).KIND == "basic"]
SEED = 0
LIMIT = 1e-5
"""Of the error of a framework's values."""


def weights(name: str) -> dict[str, np.ndarray]:
    return workloads.load(name).weights(SMALL[name], SEED)


@cache
def expected(name: str, calls: int = 1) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The reference's outputs of calls that alternate between the sets of inputs, and the state after them."""
    return workloads.load(name).expected(SMALL[name], SEED, calls)


def differ(one, other) -> float:
    """The largest relative L2 error of all outputs, and of what is updated."""
    pairs = [*zip(one[0], other[0], strict=True), *((value, other[1][name]) for name, value in one[1].items())]
    return max(relative_l2(np.asarray(a, np.float64), b) for a, b in pairs)
