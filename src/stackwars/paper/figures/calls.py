"""Latency against call number: a small panel per workload, all frameworks."""

from __future__ import annotations

from collections.abc import Container

import matplotlib.pyplot as plt
import pandas

from stackwars.frameworks import title
from stackwars.paper.style import PAGE, RC, framework_look, round_ticks
from stackwars.results.read_cells import on_cpu, titles

COLUMNS = 4


def draw_calls(
    frame: pandas.DataFrame, calls: pandas.DataFrame, shown: Container[str]
) -> plt.Figure:
    """Latency (ms) against call number on the CPU, both axes logarithmic; a panel for each of the workloads
    that are to be shown.

    A line is the median over processes; the band reaches from the fastest process to the slowest. A block of
    calls stands at its first call.
    """
    names = {name: title for name, title in titles(frame).items() if name in shown}
    rows = -(-len(names) // COLUMNS)
    size = (PAGE, 0.35 + 1.22 * rows)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=size, sharex=True, squeeze=False)
    frameworks = list(frame.framework.drop_duplicates())
    cpu = on_cpu(calls)
    for axis, (workload, name) in zip(axes.flat, names.items(), strict=False):
        axis.set_title(name, pad=2)
        _log_axes(axis)
        here = cpu[cpu.workload == workload]
        for framework in frameworks:
            one = here[here.framework == framework]
            if len(one):
                _series(axis, one, framework_look(framework, frameworks))
        if here.empty:
            _say(axis, _why_empty(frame, workload))
        else:
            _round_y(axis)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    figure.supxlabel("call number in the process", fontsize=RC["axes.labelsize"])
    figure.supylabel("latency (ms)", fontsize=RC["axes.labelsize"])
    handles = [
        plt.Line2D([], [], label=title(f), **framework_look(f, frameworks)) for f in frameworks
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return figure


def _log_axes(axis) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_major_formatter("{x:.0f}")


def _round_y(axis) -> None:
    ticks = round_ticks(*axis.get_ylim(), most=5)
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.yaxis.set_minor_locator(plt.NullLocator())


def _series(axis, one: pandas.DataFrame, style: dict) -> None:
    by_call = one.groupby("call").latency_ms
    middle = by_call.median()
    axis.plot(middle.index, middle, markevery=_marked(len(middle)), **style)
    axis.fill_between(
        middle.index, by_call.min(), by_call.max(), color=style["color"], alpha=0.2, linewidth=0
    )


def _marked(length: int) -> list[int]:
    """Calls 1, 2, 3 and then each about twice the one before: evenly spread on a log axis."""
    return [i - 1 for i in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if i <= length]


def _why_empty(frame: pandas.DataFrame, workload: str) -> str:
    cells = on_cpu(frame[frame.workload == workload])
    return "\n".join(f"{title(c.framework)}: {c.status}" for _, c in cells.iterrows())


def _say(axis, text: str) -> None:
    """Words in the middle of an empty panel."""
    axis.text(0.5, 0.5, text, ha="center", va="center", transform=axis.transAxes)
    axis.set_yticks([])
    axis.yaxis.set_minor_locator(plt.NullLocator())
