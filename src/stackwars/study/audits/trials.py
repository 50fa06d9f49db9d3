"""Trials: disjoint groups of rounds of one pair, judged as the study judges a ratio of one run.

A trial has as many rounds as the study measures of its workload, one after the other. Trials of the same number, of
all pairs, stand for one run: its ratios are a family, whose variance between rounds moderates each ratio's own, and
which the correction for the number of comparisons counts. As `study.results.deciding` has it, the intervals that
decide have one level, and undisturbed series must agree with the loops in sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stackwars.core.ratio import ALPHA, INCONCLUSIVE, LEVEL, SLOWER, LogRatio, direction
from stackwars.study.results import moderation, multiplicity
from stackwars.study.results.verdicts import DECIDED


@dataclass(frozen=True)
class Trial:
    """A trial of a pair. pair: what `paired.measure` returns of it. ratio: with the error that gives its 95 % interval,
    before the correction for the number of comparisons. verdict: what the study says after it.
    """

    pair: dict[str, Any]
    ratio: LogRatio
    verdict: str

    @property
    def excludes_one(self) -> bool:
        """Return whether the 95 % interval, before the correction, excludes 1."""
        return abs(self.ratio.log) > self.ratio.half_width()

    @property
    def claimed(self) -> bool:
        """Return whether the study would claim a difference."""
        return self.verdict in DECIDED

    @property
    def found(self) -> bool:
        """Return whether the study would say that the subject is slower."""
        return self.verdict == SLOWER


def groups(ratios: Sequence[float], size: int) -> list[list[float]]:
    """Return disjoint groups of so many rounds, in the order of time; the rest belongs to none."""
    return [list(ratios[at : at + size]) for at in range(0, len(ratios) - size + 1, size)]


def trials(pairs: Sequence[dict], factor: float = 1.0) -> list[Trial]:
    """Return every trial of the pairs that has an interval. factor: what every ratio is multiplied by."""
    by_name = {pair["name"]: pair for pair in pairs if pair["rounds"] > 1}
    alternating, undisturbed = (
        {name: groups([factor * one for one in pair[key]], pair["rounds"]) for name, pair in by_name.items()}
        for key in ("ratios", "undisturbed")
    )
    result = []
    for number in range(max(map(len, alternating.values()), default=0)):
        names = [name for name, of_it in alternating.items() if len(of_it) > number]
        ratios = moderated({name: alternating[name][number] for name in names})
        decided = decide(ratios, {name: undisturbed[name][number] for name in names})
        result += [Trial(by_name[name], ratios[name], decided[name]) for name in names]
    return result


def moderated(rounds: Mapping[str, Sequence[float]]) -> dict[str, LogRatio]:
    """Return each ratio of one run from those of its rounds, two at least, with its moderated error."""
    plain = {name: LogRatio.of_rounds(ratios) for name, ratios in rounds.items()}
    rows = [
        {"error": one.error, "dof": one.freedom, "rounds": len(rounds[name])} for name, one in plain.items()
    ]
    return {
        name: LogRatio(one.log, row["error"], row["dof"])
        for (name, one), row in zip(plain.items(), moderation.shrink_errors(rows), strict=True)
    }


def decide(ratios: Mapping[str, LogRatio], undisturbed: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Return what the study says of the ratios of one run. undisturbed: those of the series before the loops."""
    agrees = {name: ratio.log * np.log(undisturbed[name]).mean() >= 0 for name, ratio in ratios.items()}

    def word(name: str, level: float) -> str:
        found = direction(ratios[name].estimate(level))
        return found if agrees[name] or found not in DECIDED else INCONCLUSIVE

    def count_decided(level: float) -> int:
        return sum(word(name, level) != INCONCLUSIVE for name in ratios)

    level = multiplicity.level(len(ratios), count_decided)
    return {name: word(name, level) for name in ratios}


def rate(count: int, total: int) -> dict[str, Any]:
    """Return {"trials", "count", "rate", "low", "high"}, with the exact binomial 95 % interval (Clopper-Pearson)."""
    from scipy import stats  # takes a second to load, and planning a run loads this module

    low, high = stats.binomtest(count, total).proportion_ci(LEVEL, method="exact")
    return {"trials": total, "count": count, "rate": count / total, "low": float(low), "high": float(high)}


def exceeds(found: dict[str, Any], limit: float, level: float = ALPHA) -> bool:
    """Return whether more trials have it than chance explains at this level if the limit is the true rate."""
    from scipy import stats

    return stats.binomtest(found["count"], found["trials"], limit, "greater").pvalue < level


def falls_short(found: dict[str, Any], limit: float) -> bool:
    """Return whether fewer trials have it than chance explains if the limit is the true rate."""
    from scipy import stats

    return stats.binomtest(found["count"], found["trials"], limit, "less").pvalue < ALPHA


def quotients(numerators: Sequence[Trial], denominators: Sequence[Trial]) -> list[LogRatio]:
    """Return the quotients of trials of other rounds, with the errors of both."""
    both = zip(numerators, denominators, strict=False)
    return [one.ratio.plus(other.ratio, others=-1.0) for one, other in both]


def contains(ratio: LogRatio, truth: float) -> bool:
    """Return whether the 95 % interval contains a ratio."""
    return abs(ratio.log - math.log(truth)) <= ratio.half_width()
