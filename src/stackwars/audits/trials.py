"""Trials of the paper's own comparison if the truth is known: how often it is right."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stackwars.measure import process_value
from stackwars.measure.log_ratio import ALPHA, Comparison, compare
from stackwars.measure.process_value import ProcessValue

Rounds = dict[int, ProcessValue]
GROUP = 4
"""Rounds of one trial."""
CLAIMS = 5 / 40
"""Largest share of trials without a difference that may claim one."""
OFF = 0.02
"""Largest |ratio - 1| of such trials at the 95th percentile."""


class Trial(NamedTuple):
    """One comparison and where its processes come from."""

    device: str
    name: str
    comparison: Comparison

    @property
    def claimed(self) -> bool:
        """Return whether a difference would be claimed at 95 %."""
        return self.comparison.p is not None and self.comparison.p < ALPHA


def compared(values: Rounds, baseline: Rounds) -> Comparison | None:
    """Return the comparison that the paper makes of these processes; None if fewer than two pair up."""
    pairs, _ = process_value.aligned(values, baseline)
    if len(pairs) < 2:
        return None
    return compare(*map(list, zip(*pairs.values(), strict=True)))


def aa_comparison(values: Rounds, seed: str) -> Comparison | None:
    """Return even rounds over the odd ones that follow them, the same code on both sides (A/A).

    Which round of a pair is above the line is random, like the frameworks' order in a round: otherwise a machine
    that slows down from round to round would look like a slower framework.
    """
    first, second = {}, {}
    draw = random.Random(seed)
    for even in range(0, max(values, default=0), 2):
        pair = draw.sample((even, even + 1), 2)
        if values.keys() >= set(pair):
            first[even], second[even] = (values[number] for number in pair)
    return compared(first, second)


def groups(values: Rounds, size: int) -> list[Rounds]:
    """Return disjoint groups of so many rounds each, in order; the rest belongs to none."""
    complete = (max(values, default=-1) + 1) // size
    return [
        {number: value for number, value in values.items() if number // size == group}
        for group in range(complete)
    ]


def rate(count: int, trials: int) -> dict[str, Any]:
    """Return {"trials", "count", "rate", "low", "high"}, with the exact binomial 95 % interval (Clopper-Pearson)."""
    if not trials:
        return {"trials": 0, "count": 0, "rate": None, "low": None, "high": None}
    from scipy import stats  # takes a second to load, and planning a run loads this module

    low, high = stats.binomtest(count, trials).proportion_ci(1 - ALPHA, method="exact")
    return {"trials": trials, "count": count, "rate": count / trials, "low": low, "high": high}


def false_claims(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return how many trials claim a difference although there is none, and the 95th percentile of |ratio - 1|.

    ok_claims: at most CLAIMS of the trials claim one, or no more than a test at 95 % does by chance
    (one-sided binomial test at that level: of ten trials, two may). ok_size: the percentile is at most OFF.
    """
    from scipy import stats

    count = sum(trial.claimed for trial in trials)
    off = [abs(trial.comparison.ratio - 1) for trial in trials]
    off_95 = float(np.quantile(off, 0.95)) if off else None
    few = bool(off) and (
        count <= CLAIMS * len(off) or stats.binomtest(count, len(off), ALPHA, "greater").pvalue >= ALPHA
    )
    return {
        **rate(count, len(trials)),
        "off_95": off_95,
        "ok_claims": bool(few),
        "ok_size": off_95 is not None and off_95 <= OFF,
    }
