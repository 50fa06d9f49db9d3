"""The study's interval and verdict of the steady ratios of one run, for ratios that audits measure.

As `stackwars.results.comparisons` and `stackwars.results.deciding` have them: variances between rounds are moderated
within the family; the intervals that decide have one level; and undisturbed series must agree with the loops in sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from stackwars.measure.log_ratio import INCONCLUSIVE, LogRatio, direction
from stackwars.results import moderation, multiplicity
from stackwars.results.verdicts import DECIDED


class Decided(NamedTuple):
    """What the study says of a ratio, and the interval that says it."""

    verdict: str
    low: float
    high: float


def moderated(rounds: Mapping[str, Sequence[float]]) -> dict[str, LogRatio]:
    """Return each ratio of one run from those of its rounds, two at least, with its moderated error."""
    plain = {name: LogRatio.of_rounds(ratios) for name, ratios in rounds.items()}
    variances = {name: one.error**2 * len(rounds[name]) for name, one in plain.items()}
    prior = moderation.fit(list(variances.values()), [one.freedom for one in plain.values()])
    result = {}
    for name, one in plain.items():
        variance, dof = moderation.moderate(variances[name], one.freedom, prior)
        result[name] = LogRatio(one.log, math.sqrt(variance / len(rounds[name])), dof)
    return result


def decide(ratios: Mapping[str, LogRatio], undisturbed: Mapping[str, Sequence[float]]) -> dict[str, Decided]:
    """Return what the study says of the ratios of one run. undisturbed: those of the series before the loops."""
    agrees = {name: ratio.log * np.log(undisturbed[name]).mean() >= 0 for name, ratio in ratios.items()}

    def word(name: str, level: float) -> str:
        found = direction(ratios[name].estimate(level))
        return found if agrees[name] or found not in DECIDED else INCONCLUSIVE

    def count_decided(level: float) -> int:
        return sum(word(name, level) != INCONCLUSIVE for name in ratios)

    level = multiplicity.level(len(ratios), count_decided)
    return {name: Decided(word(name, level), *ratio.estimate(level)[1:]) for name, ratio in ratios.items()}
