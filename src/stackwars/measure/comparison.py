"""Two frameworks compared round by round: ratio, interval, test, and what could have been found.

A round is one fresh process of every framework, so two series of the same length pair up, and the
machine's drift from round to round cancels. Everything is worked out on logarithms of the ratios.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from stackwars.measure import NEGLIGIBLE
from stackwars.measure.log_ratio import Estimate, LogRatio

ALPHA = 0.05

SLOWER, FASTER = "slower", "faster"
EQUIVALENT = "equivalent"  # the whole interval lies within NEGLIGIBLE of 1
INCONCLUSIVE = "inconclusive"  # neither that, nor a difference
NO_INTERVAL = "no interval"  # a ratio of fewer than two rounds
NO_DATA = "no data"


class Comparison(NamedTuple):
    """Ratio value/baseline over the rounds; everything but the ratio is None from one round."""

    rounds: int
    ratio: float  # geometric mean of the rounds' ratios
    low: float | None  # 95 % interval: paired t on logarithms
    high: float | None
    p: float | None  # two-sided, of the ratio being 1
    detectable: float | None  # minimum |ratio - 1| that such rounds find 4 times of 5
    error: float | None  # standard error of the ratio's logarithm


def compare(values: Sequence[float], baseline: Sequence[float]) -> Comparison:
    """Compare values of the same rounds (one a process, same unit, over zero).

    p is that of the paired t test on logarithms.
    Raises ValueError where the two differ in length, are empty, or hold a value not over zero.
    """
    if len(values) != len(baseline):
        raise ValueError(f"expected as many values as baselines; got {len(values)}, {len(baseline)}")
    found = LogRatio.of_rounds([a / b for a, b in zip(values, baseline, strict=True)])
    return Comparison(len(values), *found.estimate(), found.p(), found.detectable(), found.error)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p-values, in the order given; None and NaN stay None and do not count.

    S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979). (statsmodels
    has it, and collects Python's garbage in every call, which takes longer than all the rest of a table.)
    """
    given = [p is not None and not math.isnan(p) for p in p_values]
    tested = np.array(list(compress(p_values, given)), dtype=float)
    order = np.argsort(tested)
    scaled = tested[order] * np.arange(len(tested), 0, -1)
    adjusted = np.empty_like(tested)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    rest = iter(adjusted)
    return [float(next(rest)) if is_tested else None for is_tested in given]


def verdict(comparison: Comparison | None, p_adjusted: float | None) -> str:
    """Return what may be said of a ratio of times, given its p after Holm's correction.

    Slower or faster if the difference is significant, which the interval then shows too; equivalent if the whole
    interval lies within NEGLIGIBLE of 1; else inconclusive. No interval from a single round; no data without a
    comparison.
    """
    if comparison is None:
        return NO_DATA
    if p_adjusted is None:
        return NO_INTERVAL
    if p_adjusted < ALPHA:
        return SLOWER if comparison.ratio > 1 else FASTER
    return _without_direction(comparison.low, comparison.high)


def direction(estimate: Estimate) -> str:
    """Return the same words by the interval alone, with no correction for other comparisons."""
    if estimate.low is None:
        return NO_INTERVAL
    if estimate.low > 1 or estimate.high < 1:
        return SLOWER if estimate.value > 1 else FASTER
    return _without_direction(estimate.low, estimate.high)


def _without_direction(low: float, high: float) -> str:
    return EQUIVALENT if is_within(low, high, NEGLIGIBLE) else INCONCLUSIVE


def is_within(low: float, high: float, margin: float) -> bool:
    """Return whether the whole interval of a ratio lies within a factor of 1 + margin of 1."""
    return 1 / (1 + margin) <= low and high <= 1 + margin
