"""A family of ratios: the variance that its members borrow strength from, and the level of their intervals.

Variances. Each ratio has few degrees of freedom. G. K. Smyth, Linear models and empirical Bayes methods, Stat. Appl.
Genet. Mol. Biol. 3:1 (2004): the true variances of a family follow a scaled inverse chi-squared distribution, whose two
parameters are estimated from the logarithms of the observed ones, by moments.

Level. Among many ratios some intervals at 95 % miss the true ratio, and those are the ones that are reported. Of the
intervals that decide, at most 5 % may: Benjamini & Yekutieli, False discovery rate-adjusted multiple confidence
intervals, J. Am. Stat. Assoc. 100 (2005). If R of m decide at the level 1 - 0.05 R / m, all m are printed at that
level; R is the largest such number, as in Benjamini & Hochberg's procedure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from stackwars.core.ratio import ALPHA
from stackwars.study.results.schema import is_missing

SAME_VARIANCE = ("quantity", "device", "compiler", "variant")
"""Ratios that agree in these columns share a prior of their variances."""
SAME_LEVEL = ("quantity", "device")
"""Ratios that agree in these columns share the level of their intervals."""
FLOOR = 1e-3
"""Share of the median under which a variance is one of values that agree by chance."""
FEWEST = 3
"""Variances without which a family says nothing of the next one."""


class Prior(NamedTuple):
    """The variance that a family has in common, and its degrees of freedom."""

    variance: float
    dof: float


def fit_prior(variances: Sequence[float], dofs: Sequence[float]) -> Prior | None:
    """Return the prior of a family from its variances with degrees of freedom; None if there are too few."""
    if len(variances) < FEWEST:
        return None
    observed, dof = np.array(variances, dtype=float), np.array(dofs, dtype=float)
    # Values that agree by chance to many digits would count for more than they can know.
    observed = np.maximum(observed, FLOOR * np.median(observed) + 1e-12)
    logs = np.log(observed) - special.digamma(dof / 2) + np.log(dof / 2)
    excess = float(np.var(logs, ddof=1) - special.polygamma(1, dof / 2).mean())
    most = float(dof.sum())
    if excess <= special.polygamma(1, most / 2):
        return Prior(float((dof * observed).sum() / most), most)
    from scipy import optimize  # takes time to load, and few steps come here

    half = optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, most / 2, xtol=1e-12)
    return Prior(math.exp(logs.mean() + special.digamma(half) - math.log(half)), 2 * half)


def shrink(variance: float, dof: float, prior: Prior | None) -> Prior:
    """Return a variance drawn towards its family's, with the degrees of freedom of both."""
    if prior is None:
        return Prior(variance, dof)
    total = dof + prior.dof
    return Prior((dof * variance + prior.dof * prior.variance) / total, total)


def shrink_errors(rows: list[dict], *family: str) -> list[dict]:
    """Return rows with their `error` and `dof` by the variance that their family lends.

    family: the columns in which its rows agree. error: of the mean of `rounds` values; rows without one stay.
    """
    families: dict[tuple, list[dict]] = {}
    for row in rows:
        if not is_missing(row.get("error")):
            families.setdefault(tuple(row.get(name, "") for name in family), []).append(row)
    for members in families.values():
        variances = [row["error"] ** 2 * row["rounds"] for row in members]
        prior = fit_prior(variances, [row["dof"] for row in members])
        for row, variance in zip(members, variances, strict=True):
            moderated = shrink(variance, row["dof"], prior)
            row |= {"error": math.sqrt(moderated.variance / row["rounds"]), "dof": moderated.dof}
    return rows


def level(total: int, count_decided: Callable[[float], int]) -> float:
    """Return the level of the intervals of a family of so many ratios.

    count_decided: returns how many of them decide at a level; not more of them at a higher one.
    """
    decided = total
    while True:
        result = 1 - ALPHA * max(decided, 1) / total
        found = count_decided(result)
        if found >= decided:
            return result
        decided = found
