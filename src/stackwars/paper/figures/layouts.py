"""Draw what the layout of a weight costs: in single linear layers, and in workloads of several sizes."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd

from stackwars.frameworks import title
from stackwars.paper.figures.style import BAND, PAGE, line_look, round_ticks
from stackwars.results import schema
from stackwars.results.names import compiler_title
from stackwars.study.comparisons import Comparison

NATIVE = "native calls"


def draw_products(rows: pd.DataFrame, pair: Comparison, compilers: list[str]) -> plt.Figure:
    """Draw the time of both frontends' programs of each linear layer: a panel a compiler, the cores used beside a mark.

    rows: replays of cells.csv, with the column `product`.
    """
    products = list(rows["product"].drop_duplicates())
    size = (PAGE, 0.9 + 0.2 * max(3, len(products)))
    figure, axes = plt.subplots(
        1, max(1, len(compilers)), figsize=size, sharex=True, sharey=True, squeeze=False
    )
    for axis, compiler in zip(axes[0], compilers, strict=False):
        _dumbbells(axis, rows[rows["compiler"] == compiler], products, pair)
        axis.set_title(compiler_title(compiler))
        axis.set_xlabel("ms a call")
    first = axes[0][0]
    first.set_yticks(range(len(products)), products)
    first.set_ylim(max(1, len(products)) - 0.5, -0.5)
    first.set_ylabel("rows, in, out")
    _log_axis(first, rows["steady_ms"], most=6)
    handles = [plt.Line2D([], [], label=_layout(side, pair), **_mark(side, pair)) for side in pair.sides]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, handletextpad=0.4)
    return figure


def _dumbbells(axis: plt.Axes, rows: pd.DataFrame, products: list[str], pair: Comparison) -> None:
    axis.tick_params(axis="y", length=0)
    for y in range(1, len(products), 2):
        axis.axhspan(y - 0.5, y + 0.5, color=BAND, linewidth=0, zorder=0)
    for y, product in enumerate(products):
        found = rows[rows["product"] == product].set_index("framework")
        times = found["steady_ms"].dropna()
        axis.plot(times, [y] * len(times), color="#888888", linewidth=1.0, zorder=1)
        for side in (one for one in pair.sides if one in times.index):
            axis.plot(times[side], y, **_mark(side, pair))
            is_longer = times[side] >= times.max()
            place = {"ha": "left" if is_longer else "right", "va": "center", "fontsize": 6.5}
            axis.annotate(
                f"{found['cores'][side]:.1f}", (times[side], y), (4 if is_longer else -4, 0),
                textcoords="offset points", **place,
            )  # fmt: skip


def _mark(side: str, pair: Comparison) -> dict:
    return line_look(side, list(pair.sides)) | {"linestyle": "none"}


def _layout(side: str, pair: Comparison) -> str:
    return f"{title(side)}, weight as {'(in, out)' if side == pair.baseline else '(out, in)'}"


def draw_sizes(rows: pd.DataFrame, pair: Comparison, compilers: list[str]) -> plt.Figure:
    """Draw the ratios of a pair over the rows of the products: a panel a workload, a line a compiler, and native calls.

    rows: comparisons of the quantities steady and replay, with the columns `base` (title of the workload) and
    `rows` (batch times sequence).
    """
    rows = rows.dropna(subset=["ratio"])
    bases = list(rows["base"].drop_duplicates())
    figure, axes = plt.subplots(
        1, max(1, len(bases)), figsize=(PAGE, 2.1), sharex=True, sharey=True, squeeze=False
    )
    lines = ["", *compilers]
    for axis, base in zip(axes[0], bases, strict=False):
        axis.axhline(1, color="black", linewidth=0.6, zorder=0)
        for compiler in lines:
            quantity = schema.REPLAY if compiler else schema.STEADY
            of_line = (rows["base"] == base) & (rows["quantity"] == quantity) & (rows["compiler"] == compiler)
            line = rows[of_line].sort_values("rows")
            look = line_look(compiler, lines)
            axis.vlines(line["rows"], line["low"], line["high"], color=look["color"], linewidth=0.8)
            axis.plot(line["rows"], line["ratio"], **look)
        axis.set_title(base)
        axis.set_xlabel("batch \N{MULTIPLICATION SIGN} sequence")
    first = axes[0][0]
    base, own = map(title, pair.sides)
    first.set_ylabel(f"{own} over {base}")
    first.set_xscale("log", base=2)
    ticks = sorted(rows["rows"].unique())
    first.set_xticks(ticks, [f"{tick:,}" for tick in ticks], rotation=45)
    first.set_yscale("log")
    if len(rows):
        low, high = rows["ratio"].min() / 1.2, rows["ratio"].max() * 1.2
        first.set_ylim(low, high)
        marks = round_ticks(low, high, most=7)
        first.set_yticks(marks, [f"{mark:g}" for mark in marks])
    for axis in axes[0]:
        axis.minorticks_off()
    handles = [
        plt.Line2D([], [], label=compiler_title(one) if one else NATIVE, **line_look(one, lines))
        for one in lines
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.4)
    return figure


def _log_axis(axis: plt.Axes, values: pd.Series, most: int) -> None:
    axis.set_xscale("log")
    if values.notna().any():
        low, high = values.min() / 1.8, values.max() * 1.8
        axis.set_xlim(low, high)
        ticks = round_ticks(low, high, most)
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
