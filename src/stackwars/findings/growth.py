"""Findings about the cost of compiling: how it grows with a size, and what a new shape costs."""

from __future__ import annotations

import numpy as np
import pandas

from stackwars.measure.statistics import LEVEL
from stackwars.results import verdicts
from stackwars.results.verdicts import Finding, finding

FLAT_UP_TO = 0.1
"""An exponent whose interval has 0 in it and ends below this is flat: twice the size costs 7 % more at most."""


def growth_findings(growth: pandas.DataFrame, shapes: pandas.DataFrame) -> list[Finding]:
    """Every finding of both tables."""
    return [*_series(growth), *_shapes(shapes)]


def _series(growth: pandas.DataFrame) -> list[Finding]:
    """``growth/<workload>/<framework>``: how what the first call takes longer grows with a size.

    slope: ms for each unit of the size; exponent: e of a cost that is proportional to size^e. Both by
    least squares, with the ends of their 95 % intervals. ratio: the largest value's cost over the smallest's.
    """
    found = []
    ok = growth[growth["status"] == "ok"]
    for (workload, framework), rows in ok.groupby(["workload", "framework"], sort=False):
        rows = rows.sort_values("value")
        if len(rows) < 3 or (rows["compile_cost_ms"] <= 0).any():
            continue
        values, costs = rows["value"].astype(float), rows["compile_cost_ms"]
        slope, slope_low, slope_high = _line(values, costs)
        exponent, exponent_low, exponent_high = _line(np.log(values), np.log(costs))
        first, last = rows.iloc[0], rows.iloc[-1]
        found.append(
            finding(
                f"growth/{workload}/{framework}",
                _growing(exponent_low, exponent_high),
                title=first["title"],
                framework=framework,
                size=first["size"],
                smallest=first["value"],
                largest=last["value"],
                slope=slope,
                slope_low=slope_low,
                slope_high=slope_high,
                exponent=exponent,
                exponent_low=exponent_low,
                exponent_high=exponent_high,
                first_cost_ms=first["compile_cost_ms"],
                last_cost_ms=last["compile_cost_ms"],
                ratio=last["compile_cost_ms"] / first["compile_cost_ms"],
                run=first["run"],
                here=bool(first["here"]),
            )
        )
    return found


def _line(x: pandas.Series, y: pandas.Series) -> tuple[float, float, float]:
    """The slope of a straight line through the points, with the ends of its interval."""
    from scipy import stats  # takes a second to load, and other steps import this module

    fit = stats.linregress(x, y)
    half = stats.t.ppf((1 + LEVEL) / 2, len(x) - 2) * fit.stderr
    return fit.slope, fit.slope - half, fit.slope + half


def _growing(low: float, high: float) -> str:
    """The word for a cost by the interval of its exponent: 0 is flat, and over 1 is faster than the size."""
    if low > 1:
        return verdicts.SUPERLINEAR
    if low <= 0:
        return verdicts.FLAT if high <= FLAT_UP_TO else verdicts.UNRESOLVED
    return verdicts.GROWS if high <= 1 else verdicts.UNRESOLVED


def _shapes(shapes: pandas.DataFrame) -> list[Finding]:
    """``shapes/<workload>/<framework>``: how many programs as many shapes needed, and what each one cost."""
    found = []
    ok = shapes[(shapes["status"] == "ok") & shapes["compiles"].notna()]
    for (workload, framework), rows in ok.groupby(["workload", "framework"], sort=False):
        first, second = (rows[rows["turn"] == turn] for turn in (1, 2))
        new = first[first["compiles"] > 0]
        if second["compiles"].sum():
            verdict = verdicts.COMPILES_AGAIN
        else:
            verdict = verdicts.EVERY_SHAPE if len(new) == len(first) else verdicts.FEWER_PROGRAMS
        found.append(
            finding(
                f"shapes/{workload}/{framework}",
                verdict,
                title=rows["title"].iloc[0],
                framework=framework,
                size=rows["size"].iloc[0],
                shapes=len(first),
                compiled=len(new),
                compiles=first["compiles"].sum(),
                again=second["compiles"].sum(),
                later_ms=first["ms"].iloc[1:].median(),
                repeated_ms=second["ms"].median(),
                run=rows["run"].iloc[0],
                here=bool(rows["here"].iloc[0]),
            )
        )
    return found
