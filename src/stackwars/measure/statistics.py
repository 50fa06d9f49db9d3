"""Statistics over the processes of a cell: one value a process, intervals across processes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

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
        raise ValueError(f"expected at least one value and all over zero; came {list(values)}")
    ends = _mean([math.log(value) for value in values])
    return Estimate(*(None if end is None else math.exp(end) for end in ends))


def paired_ratio(values: Sequence[float], baseline: Sequence[float]) -> Estimate:
    """Geometric mean of the ratios value/baseline of the same repetition, with its interval.

    Paired, because the machine's speed drifts between repetitions by more than within one. Raises
    ValueError where the two differ in length.
    """
    if len(values) != len(baseline):
        raise ValueError(
            f"expected as many values as baselines; came {len(values)}, {len(baseline)}"
        )
    return geometric_mean([value / other for value, other in zip(values, baseline, strict=True)])


def paired_difference(values: Sequence[float], baseline: Sequence[float]) -> Estimate:
    """Mean of the differences value - baseline of the same repetition, with Student's t interval.

    In the unit of the data. Raises ValueError where the two differ in length or are empty.
    """
    if len(values) != len(baseline) or not values:
        raise ValueError(
            f"expected as many values as baselines, at least one; came {len(values)}, {len(baseline)}"
        )
    return _mean([value - other for value, other in zip(values, baseline, strict=True)])


def _mean(values: Sequence[float]) -> Estimate:
    mean = float(np.mean(values))
    if len(values) == 1:
        return Estimate(mean, None, None)
    # Not stats.t.interval, which has no interval of equal values.
    low, high = stats.ttest_1samp(values, 0).confidence_interval(LEVEL)
    return Estimate(mean, float(low), float(high))
