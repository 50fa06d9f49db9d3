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
from scipy import stats
from statsmodels.stats.multitest import multipletests

from stackwars.measure.statistics import paired_ratio

ALPHA = 0.05
POWER = 0.8
NEGLIGIBLE = 0.05  # where so small a difference would have been found, none was is worth saying
DRAWS = 2000


class Comparison(NamedTuple):
    """Ratio value/baseline over the rounds; everything but the ratio is None from one round."""

    rounds: int
    ratio: float  # geometric mean of the rounds' ratios
    low: float | None  # 95 % interval: paired t on logarithms
    high: float | None
    p: float | None  # two-sided, of the ratio being 1
    detectable: float | None  # minimum |ratio - 1| that such rounds find 4 times of 5


def compare(values: Sequence[float], baseline: Sequence[float]) -> Comparison:
    """Compare values of the same rounds (one a process, same unit, over zero).

    p is that of the paired t test on logarithms. Detectable, with s the standard deviation of the R
    log-ratios and t of R - 1 degrees of freedom: exp((t(.975) + t(.8)) s / sqrt(R)) - 1, the minimum
    detectable effect of Bloom, Evaluation Review 19 (1995), in closed form. (statsmodels has
    only a search over the noncentral t, TTestPower; from 4 rounds on it is within 3 % of this.)
    Raises ValueError where the two differ in length, are empty, or hold a value not over zero.
    """
    estimate, rounds = paired_ratio(values, baseline), len(values)
    if rounds == 1:
        return Comparison(rounds, *estimate, None, None)
    logs = [math.log(a / b) for a, b in zip(values, baseline, strict=True)]
    p = float(stats.ttest_1samp(logs, 0).pvalue)
    error = np.std(logs, ddof=1) / math.sqrt(rounds)
    effect = stats.t.ppf([1 - ALPHA / 2, POWER], rounds - 1).sum() * error
    # Where every ratio is 1, t is 0/0.
    return Comparison(rounds, *estimate, 1.0 if math.isnan(p) else p, math.expm1(effect))


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

    S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
    """
    given = [p is not None and not math.isnan(p) for p in p_values]
    _, found, _, _ = multipletests(list(compress(p_values, given)), method="holm")
    rest = iter(found)
    return [float(next(rest)) if there else None for there in given]


def verdict(comparison: Comparison | None, p_holm: float | None) -> str:
    """What may be said of a ratio of times, given its p after Holm's correction.

    "slower" or "faster" where the difference is significant; else "no difference found" where one
    of 5 % would have been; else "unresolved". "not decided": no interval; "no data": no comparison.
    """
    if comparison is None:
        return "no data"
    if comparison.p is None or p_holm is None:
        return "not decided"
    if p_holm < ALPHA:
        return "slower" if comparison.ratio > 1 else "faster"
    return "no difference found" if comparison.detectable <= NEGLIGIBLE else "unresolved"
