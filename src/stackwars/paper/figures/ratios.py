"""The figures of ratios: of one pair's programs in every compiler, of native calls, and of a native ratio's factors."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd

from stackwars.frameworks import title
from stackwars.paper.figures.marks import Series, draw_rows, legend
from stackwars.paper.style import COLUMN, line_look
from stackwars.results import schema
from stackwars.results.names import compiler_title
from stackwars.study.comparisons import Comparison

FACTORS = {
    schema.STEADY: "native ratio",
    schema.REPLAY: "program (replay)",
    schema.RUNTIME: "runtime (the rest)",
}
"""A native ratio is the product of the two below it."""


def draw_compilers(rows: pd.DataFrame, pair: Comparison, compilers: list[str]) -> plt.Figure:
    """Draw the replay ratios of a pair's programs: a row a workload that has one, a mark a compiler.

    rows: comparisons of the quantity replay.
    """
    rows = rows.dropna(subset=["ratio"])
    series = [
        Series(compiler_title(c), rows[rows["compiler"] == c], line_look(c, compilers)) for c in compilers
    ]
    shown = [one for one in series if len(one.rows)]
    base, own = map(title, pair.sides)
    figure, axis = _figure(rows, COLUMN, 0.21)
    draw_rows(axis, _titles(rows), shown, (f"{own}'s program faster", f"{base}'s program faster"))
    axis.set_xlabel(f"replay of {own}'s program over that of {base}'s")
    legend(figure, shown, 2)
    return figure


def draw_ratios(rows: pd.DataFrame, baseline: str) -> plt.Figure:
    """Draw steady ratios over a baseline: a row a workload, a mark a subject, filled if a direction is claimed.

    rows: comparisons of the quantity steady.
    """
    subjects = list(rows.dropna(subset=["ratio"])["subject"].drop_duplicates())
    looks = [baseline, *subjects]
    series = [Series(title(s), rows[rows["subject"] == s], line_look(s, looks)) for s in subjects]
    base = title(baseline)
    figure, axis = _figure(rows, COLUMN, 0.21)
    draw_rows(axis, _titles(rows), series, (f"faster than {base}", f"{base} faster"), hollow=True)
    axis.set_xlabel(f"steady-state latency over {base}'s")
    legend(figure, series, 3)
    return figure


def draw_split(rows: pd.DataFrame, pair: Comparison) -> plt.Figure:
    """Draw a pair's native ratio and its two factors: a row a workload.

    rows: comparisons of the quantities of FACTORS; of the two factors those in the compiler that both use natively.
    """
    looks = list(FACTORS)
    series = [Series(FACTORS[q], rows[rows["quantity"] == q], line_look(q, looks)) for q in looks]
    base, own = map(title, pair.sides)
    figure, axis = _figure(rows, COLUMN, 0.24)
    draw_rows(axis, _titles(rows), series, (f"{own} faster", f"{base} faster"))
    axis.set_xlabel(f"{own} over {base}")
    legend(figure, series, 3)
    return figure


def _titles(rows: pd.DataFrame) -> dict[str, str]:
    return dict(zip(rows["workload"], rows["title"], strict=True))


def _figure(rows: pd.DataFrame, width: float, row: float) -> tuple[plt.Figure, plt.Axes]:
    """Return a figure whose height is by the number of workloads; row: inches for one."""
    return plt.subplots(figsize=(width, 0.85 + row * max(3, rows["workload"].nunique())))
