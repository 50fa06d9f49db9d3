"""Draw what the layout of a weight costs in single linear layers."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd

from stackwars.frameworks import title
from stackwars.paper.figures.style import BAND, PAGE, line_look, set_round_ticks
from stackwars.results.names import compiler_title
from stackwars.study.comparisons import Comparison


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
    _log_axis(first, rows["steady_ms"])
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


def _log_axis(axis: plt.Axes, values: pd.Series) -> None:
    axis.set_xscale("log")
    if values.notna().any():
        low, high = values.min() / 1.8, values.max() * 1.8
        axis.set_xlim(low, high)
        set_round_ticks(axis.xaxis, low, high, most=6)
