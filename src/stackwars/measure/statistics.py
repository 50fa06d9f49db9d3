"""Statistics over the processes of a cell: one value a process, intervals across processes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LEVEL = 0.95


class Estimate(NamedTuple):
    """A value with its 95 % interval, in the unit of the data; no interval (None) from one value."""

    value: float
    low: float | None
    high: float | None


def geometric_mean(values: Sequence[float]) -> Estimate:
    """Geometric mean of positive values, with Student's t interval of their logarithms.

    Raises ValueError where there is no value or one that is not positive.
    """
    if not values or min(values) <= 0:
        raise ValueError(f"expected at least one value and all over zero; got {list(values)}")
    logs = [math.log(value) for value in values]
    if len(logs) == 1:
        return Estimate(math.exp(logs[0]), None, None)
    from scipy import stats  # takes a second to load, and planning a run loads this module

    # Not stats.t.interval, which has no interval of equal values.
    ends = stats.ttest_1samp(logs, 0).confidence_interval(LEVEL)
    return Estimate(*(math.exp(end) for end in (float(np.mean(logs)), *map(float, ends))))
