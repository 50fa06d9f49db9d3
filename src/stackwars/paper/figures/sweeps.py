"""Draw how the ratio of two frameworks, and of their programs, depends on batch and sequence."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd

from stackwars.paper.figures.style import LOOKS, PAGE, set_round_ticks
from stackwars.paper.sizes import SWEEPS
from stackwars.results.names import compiler_title

NATIVE = "native calls"
MISSING = "no size was measured"
_PANEL = 1.2  # inches: the height of a panel


def draw_sweeps(rows: pd.DataFrame, compilers: list[str]) -> plt.Figure:
    """Draw a panel for each sweep of each workload, a line for the native calls and for the replays of each compiler.

    rows: of `stackwars.paper.sizes.sweeps`.
    """
    workloads = list(dict.fromkeys(rows["workload"]))
    shape = (len(SWEEPS), max(1, len(workloads)))
    figure, axes = plt.subplots(*shape, figsize=(PAGE, 0.5 + _PANEL * shape[0]), sharey="col", squeeze=False)
    looks = dict(zip(("", *compilers), LOOKS, strict=False))
    for of_sweep, sweep in zip(axes, SWEEPS, strict=True):
        for axis, workload in zip(of_sweep, workloads, strict=False):
            _panel(axis, rows[(rows["workload"] == workload) & (rows["sweep"] == sweep)], looks)
            axis.set_xlabel(sweep)
    for axis, workload in zip(axes[0], workloads, strict=False):
        axis.set_title(workload)
        shown = rows.loc[rows["workload"] == workload, ["low", "high", "ratio"]]
        ends = min(shown.min(axis=None), 0.8) / 1.05, max(shown.max(axis=None), 1.25) * 1.05
        axis.set_ylim(ends)
        set_round_ticks(axis.yaxis, *ends, most=5)
    if not workloads:
        axes[0][0].text(0, 0.5, MISSING, style="italic")
    handles = [
        plt.Line2D([], [], label=compiler_title(compiler) if compiler else NATIVE, **look)
        for compiler, look in looks.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def _panel(axis: plt.Axes, rows: pd.DataFrame, looks: dict[str, dict]) -> None:
    axis.axhline(1, color="black", linewidth=0.6, zorder=0)
    axis.set(xscale="log", yscale="log")
    sizes = sorted(set(rows["size"]))
    axis.set_xticks(sizes, map(str, sizes))
    axis.xaxis.set_minor_locator(plt.NullLocator())
    for compiler, line in rows.sort_values("size").groupby("compiler", sort=False):
        low, high = (line[end].fillna(line["ratio"]) for end in ("low", "high"))
        axis.fill_between(line["size"], low, high, color=looks[compiler]["color"], alpha=0.18, linewidth=0)
        axis.plot(line["size"], line["ratio"], **looks[compiler])
