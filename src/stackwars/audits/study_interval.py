"""The study's interval and verdict of the ratios of one run, for ratios that audits measure."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stackwars.measure.log_ratio import LogRatio
from stackwars.results import pooling
from stackwars.results.pooling import Units


class Decided(NamedTuple):
    """A ratio's interval after the correction for the number of comparisons: the one that decides."""

    low: float
    high: float


def intervals(rounds: dict[str, list[float]]) -> dict[str, LogRatio]:
    """Return each ratio of one run from those of its rounds, two at least, with its moderated error."""
    logs = {name: np.log(ratios) for name, ratios in rounds.items()}
    prior = pooling.family(Units(list(one), 1, 1, 0.0) for one in logs.values())
    result = {}
    for name, one in logs.items():
        dof, variance = len(one) - 1, float(np.var(one, ddof=1))
        if prior:
            variance = (prior.dof * prior.variance + dof * variance) / (prior.dof + dof)
            dof += prior.dof
        result[name] = LogRatio(float(one.mean()), math.sqrt(variance / len(one)), float(dof))
    return result


def decide(ratios: dict[str, LogRatio]) -> dict[str, Decided]:
    """Return the deciding interval of each: at a level for the share of the family that differs from 1."""
    return {name: Decided(*ratio.estimate()[1:]) for name, ratio in ratios.items()}
