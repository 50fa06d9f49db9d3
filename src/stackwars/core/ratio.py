"""Means and ratios on the logarithmic scale: intervals, tests and verdicts.

A round is one fresh process of every framework, so two series of the same length pair up, and the machine's drift
from round to round cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np

NEGLIGIBLE = 0.05
"""Two times are called equal if the whole interval of their ratio lies within this share of 1."""
ALPHA = 0.05
"""Accepted share of errors in intervals, in verdicts and in the audits' tests."""
LEVEL = 1 - ALPHA
POWER = 0.8
SAME_SIZE = 0.01
"""Byte counts within this share of each other are the same."""

SLOWER, FASTER = "slower", "faster"
EQUIVALENT = "equivalent"  # the whole interval lies within NEGLIGIBLE of 1
INCONCLUSIVE = "inconclusive"  # neither equivalent nor different
NO_INTERVAL = "no interval"  # a ratio of fewer than two rounds
NO_DATA = "no data"


class Estimate(NamedTuple):
    """A value with its 95 % interval, in the unit of the data; no interval (None) from one value."""

    value: float
    low: float | None
    high: float | None


def geometric_mean(values: Sequence[float]) -> Estimate:
    """Return the geometric mean of positive values, with Student's t interval of their logarithms.

    Raises ValueError if there is no value or one that is not positive.
    """
    return LogRatio.of_rounds(values).estimate()


@dataclass(frozen=True)
class LogRatio:
    """The logarithm of a ratio, its standard error and degrees of freedom (None for a single round)."""

    log: float
    error: float | None
    freedom: float | None

    @classmethod
    def of_rounds(cls, ratios: Sequence[float]) -> LogRatio:
        """Return the estimate from one ratio a round.

        :raises ValueError: if there is none, or one is not over zero.
        """
        if not ratios or min(ratios) <= 0:
            raise ValueError(f"expected at least one ratio and all over zero; got {list(ratios)}")
        logs = np.log(ratios)
        if len(logs) == 1:
            return cls(float(logs[0]), None, None)
        return cls(float(logs.mean()), float(logs.std(ddof=1) / math.sqrt(len(logs))), len(logs) - 1.0)

    def plus(self, other: LogRatio, weight: float = 1.0, others: float = 1.0) -> LogRatio:
        """Return weight * this + others * the other, which are independent; freedom by Welch and Satterthwaite."""
        log = weight * self.log + others * other.log
        if self.error is None or other.error is None:
            return LogRatio(log, None, None)
        parts = [(weight * self.error) ** 2, (others * other.error) ** 2]
        variance = sum(parts)
        if not variance:
            return LogRatio(log, 0.0, min(self.freedom, other.freedom))
        weighted = zip(parts, (self.freedom, other.freedom), strict=True)
        return LogRatio(log, math.sqrt(variance), variance**2 / sum(part**2 / free for part, free in weighted))

    def half_width(self, level: float = LEVEL) -> float | None:
        """Return half the width of Student's interval of the logarithm; None if it has none."""
        if self.error is None:
            return None
        return float(_student().stdtrit(self.freedom, (1 + level) / 2)) * self.error

    def estimate(self, level: float = LEVEL) -> Estimate:
        """Return the ratio and its interval."""
        half = self.half_width(level)
        if half is None:
            return Estimate(math.exp(self.log), None, None)
        return Estimate(*(_exp(end) for end in (self.log, self.log - half, self.log + half)))

    def detectable(self, level: float = LEVEL) -> float | None:
        """Return the smallest |ratio - 1| that is detected 4 times of 5 with such an error at a level.

        exp((t(.975) + t(.8)) SE) - 1 at 95 %: the minimum detectable effect of Bloom, Evaluation Review 19 (1995), in
        closed form. (statsmodels has only a search over the noncentral t, TTestPower; from 4 rounds on it is
        within 3 % of this.)
        """
        if self.error is None:
            return None
        return math.expm1(_student().stdtrit(self.freedom, [(1 + level) / 2, POWER]).sum() * self.error)


def growth(sizes: Iterable[float], costs: Iterable[float]) -> LogRatio:
    """Return the factor by which a cost grows if a size doubles: least squares on logarithms, of three sizes or more.

    The exponent of the growth is its logarithm to base 2.
    """
    from scipy import stats

    logs = [math.log2(one) for one in sizes]
    fit = stats.linregress(logs, [math.log(one) for one in costs])
    return LogRatio(float(fit.slope), float(fit.stderr), len(logs) - 2.0)


def direction(estimate: Estimate) -> str:
    """Return the verdict on a ratio of times by its interval.

    Slower or faster if it excludes 1; equivalent if it lies within NEGLIGIBLE of 1; else inconclusive. No interval
    from a single round.
    """
    if estimate.low is None:
        return NO_INTERVAL
    if estimate.low > 1 or estimate.high < 1:
        return SLOWER if estimate.value > 1 else FASTER
    return EQUIVALENT if is_within(estimate.low, estimate.high, NEGLIGIBLE) else INCONCLUSIVE


def is_within(low: float, high: float, margin: float) -> bool:
    """Return whether the whole interval of a ratio lies within a factor of 1 + margin of 1."""
    return 1 / (1 + margin) <= low and high <= 1 + margin


def is_gap(estimate: Estimate | None, bound: float) -> bool:
    """Return whether a ratio differs from 1 by more than the bound, with its whole interval if it has one."""
    if estimate is None:
        return False
    low, high = (estimate.value if end is None else end for end in (estimate.low, estimate.high))
    return low > 1 + bound or high < 1 / (1 + bound)


def _student() -> ModuleType:
    from scipy import special  # takes time to load, and planning a run loads this module

    return special


def _exp(value: float) -> float:
    """Return a finite exponential: with two rounds, the end of an interval can exceed every float."""
    return math.exp(min(value, 700.0))
