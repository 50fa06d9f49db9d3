"""The native ratio split into two factors, and both compilers' IR effect, a row per workload."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas

from stackwars.frameworks import title
from stackwars.paper.style import PAGE, line_look, round_ticks
from stackwars.results.read_cells import titles
from stackwars.results.read_compilers import compiler_title, compilers
from stackwars.study.comparisons import Comparison

TERMS = {"native": "native ratio", "ir": "IR effect", "runtime": "runtime effect"}


def draw_split(split: pandas.DataFrame, pair: Comparison) -> plt.Figure:
    """Left: the native ratio subject/baseline and its two factors, in the compiler that both natively use.
    Right: replay of the subject's program over the baseline's in every compiler. Logarithmic axes.

    Bars are 95 % intervals; an interval that leaves the axis is cut there.
    """
    split = split[(split.framework == pair.subject) & (split.baseline == pair.baseline)]
    base, own = map(title, pair.sides)
    names = titles(split) or {"": "no program was replayed"}
    size = (PAGE, 0.8 + 0.21 * len(names))
    figure, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=[1.25, 1])
    left.set_yticks(range(len(names)), list(names.values()))
    left.set_ylim(len(names) - 0.5, -0.5)
    for axis in (left, right):
        axis.grid(axis="y", linewidth=0.3, color="#dddddd")
        axis.axvline(1, color="black", linewidth=0.8)
    native = split.dropna(subset=["runtime_ratio"])
    terms = {label: (native, name) for name, label in TERMS.items()}
    _ratios(left, terms, list(names), 0.26)
    left.set_xlabel(f"{own} over {base}")
    known = split.dropna(subset=["ir_ratio"])
    replays = {
        compiler_title(one): (known[known.compiler == one], "ir") for one in compilers(split)
    }
    _ratios(right, replays, list(names), 0.24)
    right.set_xlabel(f"replay of {own}'s program over {base}'s")
    return figure


def _ratios(
    axis, series: dict[str, tuple[pandas.DataFrame, str]], order: list[str], step: float
) -> None:
    """Each series a table and the beginning of its ratio's columns, in marks beside each other."""
    drawn: set[str] = set()
    seen: list[float] = []
    for index, (label, (rows, name)) in enumerate(series.items()):
        places = [order.index(w) + step * (index - (len(series) - 1) / 2) for w in rows.workload]
        look = line_look(label, list(series)) | {"linestyle": "none", "label": label}
        values = rows[f"{name}_ratio"]
        ends = zip(places, rows[f"{name}_ratio_low"], rows[f"{name}_ratio_high"], strict=True)
        for y, low, high in ends:
            axis.plot([low, high], [y, y], color=look["color"], linewidth=1.0)
        axis.plot(values, places, **look)
        seen += list(values)
        drawn |= set(rows.workload)
    _say_missing(axis, order, drawn)
    low, high = min([0.8, *(x / 1.25 for x in seen)]), max([1.25, *(x * 1.25 for x in seen)])
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    ticks = round_ticks(low, high, most=7)
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axis.minorticks_off()
    if series:
        axis.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(series), columnspacing=0.8
        )


def _say_missing(axis, order: list[str], drawn: set[str]) -> None:
    for position, workload in enumerate(order):
        if workload not in drawn:
            place = {"va": "center", "transform": axis.get_yaxis_transform()}
            place["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            axis.text(0.02, position, "nothing to compare", style="italic", **place)
