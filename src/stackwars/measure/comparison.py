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
from stackwars.measure.log_ratio import LogRatio
from stackwars.measure.statistics import Estimate

ALPHA = 0.05
DRAWS = 2000


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
        raise ValueError(
            f"expected as many values as baselines; came {len(values)}, {len(baseline)}"
        )
    found = LogRatio.of_rounds([a / b for a, b in zip(values, baseline, strict=True)])
    return Comparison(len(values), *found.estimate(), found.p(), found.detectable(), found.error)


def bootstrap(
    values: Sequence[Sequence[float]], baseline: Sequence[Sequence[float]], seed: int
) -> tuple[float, float] | None:
    """95 % interval of the ratio by a paired hierarchical bootstrap; None from one round.

    values[r] are the block times of round r's process, any number of them, and baseline[r] those of
    the process it is paired with. A draw takes rounds with replacement, blocks with replacement in
    each of their two processes, and the mean log-ratio of the medians (Davison & Hinkley, Bootstrap
    Methods, 3.8; Saravanan et al. 2020); scipy.stats.bootstrap draws at one level alone. Percentiles of
    few rounds are narrow: in simulation 5 rounds cover the ratio 91 times of 100 where Student's t
    covers it 95, so this decides nothing.
    Raises ValueError where the numbers of rounds differ, or a process has no block.
    """
    if len(values) != len(baseline) or not all(map(len, [*values, *baseline])):
        raise ValueError(
            "expected the blocks of as many processes as of baseline processes, at least one each; "
            f"came {[len(blocks) for blocks in values]}, {[len(blocks) for blocks in baseline]}"
        )
    rounds = len(values)
    if rounds < 2:
        return None
    random = np.random.default_rng(seed)
    picked = random.integers(rounds, size=(DRAWS, rounds))
    logs = np.empty(picked.shape)
    for index in range(rounds):
        where = picked == index
        values_ms, baseline_ms = (
            _medians(s[index], int(where.sum()), random) for s in (values, baseline)
        )
        logs[where] = np.log(values_ms / baseline_ms)
    low, high = np.exp(np.quantile(logs.mean(axis=1), [ALPHA / 2, 1 - ALPHA / 2]))
    return float(low), float(high)


def _medians(blocks: Sequence[float], count: int, random: np.random.Generator) -> np.ndarray:
    return np.median(random.choice(np.asarray(blocks), size=(count, len(blocks))), axis=1)


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
    return [float(next(rest)) if there else None for there in given]


def verdict(comparison: Comparison | None, p_holm: float | None) -> str:
    """What may be said of a ratio of times, given its p after Holm's correction.

    "slower" or "faster" where the difference is significant, which the interval then shows too; "no difference
    found" where the whole interval lies within NEGLIGIBLE of 1; else "unresolved". "not decided": no interval;
    "no data": no comparison.
    """
    if comparison is None:
        return "no data"
    if p_holm is None:
        return "not decided"
    if p_holm < ALPHA:
        return "slower" if comparison.ratio > 1 else "faster"
    return _without_direction(comparison.low, comparison.high)


def direction(estimate: Estimate) -> str:
    """The same words by the interval alone, with no correction for other comparisons."""
    if estimate.low is None:
        return "not decided"
    if estimate.low > 1 or estimate.high < 1:
        return "slower" if estimate.value > 1 else "faster"
    return _without_direction(estimate.low, estimate.high)


def _without_direction(low: float, high: float) -> str:
    return "no difference found" if is_within(low, high, NEGLIGIBLE) else "unresolved"


def is_within(low: float, high: float, margin: float) -> bool:
    """Whether the whole interval of a ratio lies within a factor of 1 + margin of 1."""
    return 1 / (1 + margin) <= low and high <= 1 + margin
