"""Figures with a row per workload: the steady-state ratio and the peak memory."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas

from stackwars import frameworks
from stackwars.frameworks import title
from stackwars.paper.style import COLUMN, framework_look, line_look, round_ticks
from stackwars.results.read_cells import baselines_title, on_cpu, titles
from stackwars.results.verdicts import FASTER, SLOWER
from stackwars.setup.device import CPUS, ONE_THREAD

WIDEST = 30
"""The axis of ratios ends here: an interval from two rounds may reach far beyond, and is cut."""


def draw_ratios(frame: pandas.DataFrame, ratios: pandas.DataFrame) -> plt.Figure:
    """Steady-state latency over the baseline's on the CPU with its 95 % interval, log axis, a line at 1.

    A framework on one core is a row of marks of its own. A mark is filled where a direction is claimed.
    """
    cells = frame[(frame.baseline != "") & frame.device.isin(CPUS)]
    keys = list(dict.fromkeys(zip(cells.device, cells.framework, strict=True)))
    known = ratios[ratios.device.isin(CPUS)].dropna(subset=["steady_ratio"])
    figure, axis = _rows(frame, set(known.workload))
    axis.axvline(1, color="black", linewidth=0.8)
    for position, workload in enumerate(titles(frame)):
        here = known[known.workload == workload].set_index(["device", "framework"])
        shown = [key for key in keys if key in here.index]
        for index, key in enumerate(shown):
            row = here.loc[key]
            y = position + 0.26 * (index - (len(shown) - 1) / 2)
            ends = [row.steady_ratio_low, row.steady_ratio_high]
            axis.plot(ends, [y, y], color="black", linewidth=0.9)
            look = _mark(key, keys)
            if row.steady_verdict not in (SLOWER, FASTER):
                look["markerfacecolor"] = "white"
            axis.plot(row.steady_ratio, y, **look)
    values = known[["steady_ratio", "steady_ratio_low", "steady_ratio_high"]].stack().astype(float)
    low, high = (values.min(), values.max()) if len(values) else (0.5, 2.0)
    low, high = max(low, 1 / WIDEST), min(high, WIDEST)
    _round_axis(axis, min(0.8, low / 1.1), max(1.25, high * 1.1))
    base = baselines_title(frame)
    axis.set_xlabel(f"steady-state latency over {base}'s (above 1: {base} is faster)")
    _legend(figure, [(_series(key), _mark(key, keys)) for key in keys])
    return figure


def _mark(key: tuple[str, str], keys: list[tuple[str, str]]) -> dict:
    """A marker without a line; the first look of a row's is kept for the baseline."""
    names = ["baseline", *map(str, keys)]
    colour = frameworks.load(key[1]).COLOUR
    return line_look(str(key), names) | {"linestyle": "none", "color": colour}


def _series(key: tuple[str, str]) -> str:
    device, framework = key
    name = title(framework)
    return f"{name}, one core" if device == ONE_THREAD else name


def draw_memory(frame: pandas.DataFrame) -> plt.Figure:
    """Peak resident memory (GiB) of every CPU cell's process that gave a result, log axis."""
    everyone = list(frame.framework.drop_duplicates())
    ok = on_cpu(frame[frame.status == "ok"])
    figure, axis = _rows(frame, set(ok.workload))
    order, bases = list(titles(frame)), set(frame.baseline)
    for framework in everyone:
        one = ok[ok.framework == framework]
        rows = [order.index(workload) for workload in one.workload]
        axis.plot(one.peak_rss_bytes / 2**30, rows, **_dots(framework, everyone, bases))
    low, high = (ok.peak_rss_bytes.min(), ok.peak_rss_bytes.max()) if len(ok) else (2**29, 2**33)
    _round_axis(axis, low / 2**30 / 1.3, high / 2**30 * 1.3)
    axis.set_xlabel("peak resident memory (GiB)")
    axis.grid(axis="y", linewidth=0.3, color="#bbbbbb")
    _legend(figure, [(title(f), _dots(f, everyone, bases)) for f in everyone])
    return figure


def _rows(frame: pandas.DataFrame, drawn: set[str]) -> tuple[plt.Figure, plt.Axes]:
    """An empty axis with a row per workload; where nothing will be drawn, the statuses say why."""
    names = titles(frame)
    figure, axis = plt.subplots(figsize=(COLUMN, 0.75 + 0.21 * len(names)))
    axis.set_yticks(range(len(names)), list(names.values()))
    axis.set_ylim(len(names) - 0.5, -0.5)
    cells = on_cpu(frame[frame.status != "ok"])
    for position, workload in enumerate(names):
        if workload not in drawn:
            states = cells[cells.workload == workload].status
            words = ", ".join(dict.fromkeys(states)) or "nothing to compare"
            place = {"va": "center", "transform": axis.get_yaxis_transform()}
            # Else a line of the grid goes through the words.
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            axis.text(0.02, position, words, style="italic", bbox=box, **place)
    return figure, axis


def _dots(framework: str, everyone: list[str], bases: set[str]) -> dict:
    """Markers without a line. All but a baseline's are hollow, so that neighbours stay apart."""
    look = framework_look(framework, everyone) | {"linestyle": "none"}
    return look if framework in bases else look | {"markerfacecolor": "white"}


def _round_axis(axis, low: float, high: float) -> None:
    """A logarithmic x axis with plain round numbers."""
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    ticks = round_ticks(low, high, most=7)
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axis.minorticks_off()


def _legend(figure: plt.Figure, entries: list[tuple[str, dict]]) -> None:
    """Names and looks above the axis, closer together than marks with lines need."""
    handles = [plt.Line2D([], [], label=name, **look) for name, look in entries]
    spacing = {"handlelength": 1.0, "handletextpad": 0.4, "columnspacing": 1.2}
    columns = max(1, min(3, len(handles)))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, **spacing)
