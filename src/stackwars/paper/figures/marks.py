"""A row per workload and a mark with its interval per series, on a logarithmic axis of ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

from stackwars.paper.style import BAND, round_ticks
from stackwars.results.verdicts import DECIDED

REACH = 1.5
"""The axis reaches this factor beyond the outermost ratios; an interval that is longer is cut there."""
NO_RATIO = "no ratio"


@dataclass(frozen=True)
class Series:
    """Ratios with one look: rows have workload, ratio, low, high and verdict, as comparisons.csv."""

    label: str
    rows: pd.DataFrame
    look: dict[str, Any]


def draw_rows(
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


def legend(figure: plt.Figure, series: list[Series], columns: int) -> None:
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
