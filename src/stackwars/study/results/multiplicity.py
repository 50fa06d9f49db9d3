"""The level of the intervals of a family of ratios, by how many of them decide.

Among many ratios some intervals at 95 % miss the true ratio, and those are the ones that are told. Of the intervals
that decide, at most 5 % may: Benjamini & Yekutieli, False discovery rate-adjusted multiple confidence intervals, J. Am.
Stat. Assoc. 100 (2005). If R of m decide at the level 1 - 0.05 R / m, all m are printed at that level; R is the
largest such number, as in Benjamini & Hochberg's procedure.
"""

from __future__ import annotations

from collections.abc import Callable

from stackwars.core.ratio import ALPHA

FAMILY = ("quantity", "device")
"""Ratios that agree in these columns are one family."""


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
