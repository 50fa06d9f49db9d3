"""Draw ratios: a row per workload and a mark with its interval per series, on a logarithmic axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

from stackwars.frameworks import title
from stackwars.paper.figures.style import BAND, COLUMN, line_look, round_ticks
from stackwars.results import schema
from stackwars.results.names import compiler_title
from stackwars.results.verdicts import DECIDED
from stackwars.study.comparisons import Comparison

REACH = 1.5
"""The axis reaches this factor beyond the outermost ratios; an interval that is longer is cut there."""
NO_RATIO = "no ratio"
FACTORS = {
    schema.STEADY: "native ratio",
    schema.REPLAY: "program (replay)",
    schema.RUNTIME: "runtime (the rest)",
}
"""A native ratio is the product of the two below it."""


@dataclass(frozen=True)
class Series:
    """Ratios with one look: rows have workload, ratio, low, high and verdict, as comparisons.csv."""

    label: str
    rows: pd.DataFrame
    look: dict[str, Any]


def _draw_rows(
    axis: plt.Axes, titles: dict[str, str], series: list[Series], ends: tuple[str, str], hollow: bool = False
) -> None:
    """Draw a row for each of these workloads, and say in rows without a mark that there is no ratio.

    titles: {workload: its title}. ends: what a ratio below 1 means, and one above 1. hollow: whether a mark is filled
    only if its verdict is slower or faster.
    """
    known = [Series(one.label, one.rows.dropna(subset=["ratio"]), one.look) for one in series]
    _rows(axis, titles)
    low, high = _limits(axis, [ratio for one in known for ratio in one.rows["ratio"]])
    step = 0.8 / max(1, len(known))
    for place, workload in enumerate(titles):
        here = [(row, one.look) for one in known for row in one.rows.itertuples() if row.workload == workload]
        for index, (row, look) in enumerate(here):
            y = place + step * (index - (len(here) - 1) / 2)
            is_hollow = hollow and row.verdict not in DECIDED
            _interval(axis, y, (row.low, row.high), (low, high), look["color"])
            axis.plot(
                row.ratio,
                y,
                **look | {"linestyle": "none"} | ({"markerfacecolor": "white"} if is_hollow else {}),
            )
        if not here:
            axis.text(0.02, place, NO_RATIO, style="italic", va="center", transform=axis.get_yaxis_transform())
    _say_ends(axis, *ends)


def _legend(figure: plt.Figure, series: list[Series], columns: int) -> None:
    """Name the looks above the axes."""
    handles = [plt.Line2D([], [], label=one.label, **one.look | {"linestyle": "none"}) for one in series]
    spacing = {"handlelength": 1.0, "handletextpad": 0.4, "columnspacing": 1.4}
    figure.legend(handles=handles, loc="outside upper center", ncols=max(1, columns), **spacing)


def _rows(axis: plt.Axes, titles: dict[str, str]) -> None:
    axis.set_yticks(range(len(titles)), list(titles.values()))
    axis.set_ylim(max(1, len(titles)) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    for y in range(1, len(titles), 2):
        axis.axhspan(y - 0.5, y + 0.5, color=BAND, linewidth=0, zorder=0)
    axis.axvline(1, color="black", linewidth=0.8, zorder=1)


def _limits(axis: plt.Axes, ratios: list[float]) -> tuple[float, float]:
    low, high = min([1.0, *ratios]) / REACH, max([1.0, *ratios]) * REACH
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    ticks = round_ticks(low, high, most=7)
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    return low, high


def _interval(
    axis: plt.Axes, y: float, ends: tuple[float, float], limits: tuple[float, float], colour: str
) -> None:
    """Draw an interval, with an arrowhead where the axis cuts it."""
    shown = [max(ends[0], limits[0]), min(ends[1], limits[1])]
    axis.plot(shown, [y, y], color=colour, linewidth=1.0, solid_capstyle="butt")
    heads = {"linestyle": "none", "color": colour, "markersize": 3, "clip_on": False}
    if ends[0] < limits[0]:
        axis.plot(limits[0], y, marker="<", **heads)
    if ends[1] > limits[1]:
        axis.plot(limits[1], y, marker=">", **heads)


def _say_ends(axis: plt.Axes, below: str, above: str) -> None:
    for x, side, text in (
        (0, "left", f"\N{LEFTWARDS ARROW} {below}"),
        (1, "right", f"{above} \N{RIGHTWARDS ARROW}"),
    ):
        axis.annotate(
            text,
            (x, 0),
            (0, -15),
            "axes fraction",
            "offset points",
            ha=side,
            va="top",
            fontsize=7.5,
            style="italic",
        )
    axis.xaxis.labelpad = 12


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
    _draw_rows(axis, _titles(rows), shown, (f"{own}'s program faster", f"{base}'s program faster"))
    axis.set_xlabel(f"replay of {own}'s program over that of {base}'s")
    _legend(figure, shown, 2)
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
    _draw_rows(axis, _titles(rows), series, (f"faster than {base}", f"{base} faster"), hollow=True)
    axis.set_xlabel(f"steady-state latency over {base}'s")
    _legend(figure, series, 3)
    return figure


def draw_split(rows: pd.DataFrame, pair: Comparison) -> plt.Figure:
    """Draw a pair's native ratio and its two factors: a row a workload.

    rows: comparisons of the quantities of FACTORS; of the two factors those in the compiler that both use natively.
    """
    looks = list(FACTORS)
    series = [Series(FACTORS[q], rows[rows["quantity"] == q], line_look(q, looks)) for q in looks]
    base, own = map(title, pair.sides)
    figure, axis = _figure(rows, COLUMN, 0.24)
    _draw_rows(axis, _titles(rows), series, (f"{own} faster", f"{base} faster"))
    axis.set_xlabel(f"{own} over {base}")
    _legend(figure, series, 3)
    return figure


def _titles(rows: pd.DataFrame) -> dict[str, str]:
    return dict(zip(rows["workload"], rows["title"], strict=True))


def _figure(rows: pd.DataFrame, width: float, row: float) -> tuple[plt.Figure, plt.Axes]:
    """Return a figure whose height is by the number of workloads; row: inches for one."""
    return plt.subplots(figsize=(width, 0.85 + row * max(3, rows["workload"].nunique())))
