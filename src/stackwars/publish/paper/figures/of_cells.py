"""Draw the figures of cells: ratios, latency against call number, and heat maps of times over the best one."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from string import ascii_lowercase

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from stackwars.core import documents, numbers
from stackwars.core.documents import event
from stackwars.core.outcome import Status
from stackwars.measure import workloads
from stackwars.measure.frameworks import program_of, title
from stackwars.publish.paper.figures.ratios import draw_ratios
from stackwars.publish.paper.figures.style import PAGE, RC, draw_legend, line_look, panels, round_ticks, save
from stackwars.setup.device import CPU
from stackwars.study.cells import Cell
from stackwars.study.keys import Config
from stackwars.study.results import schema
from stackwars.study.results.dataset import Dataset, sources
from stackwars.study.results.folder import Folder, command
from stackwars.study.results.programs import compiler_title
from stackwars.study.studies import CELLS, comparisons

FOLDER = "cell_figures"
SHORT = {Status.UNSUPPORTED: "\N{EN DASH}", Status.NOT_RUN: "", "": ""}
"""Text of a cell without a number, if it is not its status."""
SIGNS = {
    SHORT[Status.UNSUPPORTED]: "Dash: the frontend has no program, or the compiler refuses it.",
    "": "Empty: not measured.",
}
UNREMARKABLE = 1.5
"""A workload none of whose programs takes longer than this over the fastest one has no panel."""


def read_calls(measured: Path, names: list[str], frameworks: list[str]) -> pd.DataFrame:
    """Return every call before the loops, of the ok cells of these workloads on the CPU: workload, framework, call,
    latency_ms.

    A block of calls stands at the number of its first one, with the time of one. Later rounds have calls 1 and 2 alone.
    """
    rows = []
    for workload in names:
        for framework in frameworks:
            path = measured / Cell(framework, workload, CPU).path / "cell.json"
            result = documents.read(path) if path.exists() else {"status": Status.NOT_RUN}
            if result["status"] == Status.OK:
                rows += [
                    (workload, framework, *one) for process in result["processes"] for one in _calls(process)
                ]
    return pd.DataFrame(rows, columns=["workload", "framework", "call", "latency_ms"])


def _calls(process: dict) -> list[tuple[int, float]]:
    """Return (number, ms) of the calls of a process."""
    steady = event(process, "steady") or {"ns": []}
    singles = [(number, event(process, name)["ns"] / 1e6) for number, name in ((1, "first"), (2, "second"))]
    count = steady.get("calls")
    return singles + [(3 + n * count, ns / count / 1e6) for n, ns in enumerate(steady["ns"])]


def draw_calls(calls: pd.DataFrame, frameworks: list[str]) -> plt.Figure:
    """Draw latency (ms) against call number, both axes logarithmic: a panel a workload, each with its own ranges.

    calls: of `read_calls`. A line is the median over processes; the band reaches from the fastest to the slowest.
    """
    names = list(calls["workload"].drop_duplicates())
    shown = [name for name in frameworks if name in set(calls["framework"])]
    figure, axes = panels(len(names), 4, 1.25, 0.35)
    for axis, workload in zip(axes.flat, names, strict=False):
        axis.set_title(workloads.load(workload).TITLE, pad=2)
        for framework in shown:
            one = calls[(calls["workload"] == workload) & (calls["framework"] == framework)]
            if len(one):
                _series(axis, one.groupby("call")["latency_ms"], line_look(framework, frameworks))
        _log_axes(axis)
    figure.supxlabel("call number in the process", fontsize=RC["axes.labelsize"])
    figure.supylabel("latency (ms)", fontsize=RC["axes.labelsize"])
    looks = ((title(name), line_look(name, frameworks)) for name in shown)
    draw_legend(figure, looks, max(1, len(shown)))
    return figure


def _series(axis: plt.Axes, by_call, look: dict) -> None:
    middle = by_call.median()
    # Points with a mark: evenly spread on a logarithmic axis.
    marked = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
    marks = [number - 1 for number in marked if number <= len(middle)]
    axis.plot(middle.index, middle, markevery=marks, **look)
    ends = (by_call.min(), by_call.max())
    axis.fill_between(middle.index, *ends, color=look["color"], alpha=0.2, linewidth=0)


def _log_axes(axis: plt.Axes) -> None:
    axis.loglog()
    for side, is_whole in ((axis.xaxis, True), (axis.yaxis, False)):
        ticks = round_ticks(*side.get_view_interval(), most=5)
        ticks = [tick for tick in ticks if not is_whole or tick % 1 == 0]
        side.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        side.set_minor_locator(plt.NullLocator())


def figures(config: Config, folder: Folder) -> dict[str, Figure]:
    datasets = sources(config, folder)
    tables = datasets.dataset_for("tables")
    main = comparisons(config, CELLS)[0]
    steady = tables.comparisons("tables", quantity=schema.STEADY, baseline=main.baseline, device=CPU)
    frameworks = list(tables.study("tables").frameworks)
    return {
        "ratios": draw_ratios(steady[steady["subject"].map(program_of) == main.subject], main.baseline),
        "calls": draw_calls(read_calls(tables.measured, chosen(config, tables), frameworks), frameworks),
        **{study: draw_stacks(on_cpu(datasets.dataset_for(study), study)) for study in ("stacks", "beyond")},
    }


def on_cpu(data: Dataset, study: str) -> pd.DataFrame:
    cells = data.rows("cells", study)
    return cells[cells["device"] == CPU]


def chosen(config: Config, data: Dataset) -> list[str]:
    """Return the workloads of paper.calls that have a time, or else the first four that have one."""
    cells = on_cpu(data, "tables")
    ran = list(cells[cells["status"] == Status.OK]["workload"].drop_duplicates())
    return [name for name in (config.paper.calls or []) if name in ran] or ran[:4]


def write(config: Config, folder: Folder) -> None:
    save(lambda: figures(config, folder), folder[FOLDER])


def draw_stacks(cells: pd.DataFrame) -> plt.Figure:
    """Draw the steady time of every framework over the fastest one of the workload.

    cells: native rows of cells.csv on one device; a workload on which nothing ran is left out.
    """
    cells = over_best(cells)
    names = dict(zip(cells["workload"], cells["title"], strict=True))
    frameworks = list(cells["framework"].drop_duplicates())
    figure, axis = plt.subplots(figsize=(PAGE, 0.8 + 0.15 * max(1, len(frameworks))))
    _heat(axis, cells, "workload", frameworks, list(names), _scale(cells))
    axis.set_xticks(range(len(names)), list(names.values()), rotation=40, ha="right", rotation_mode="anchor")
    _legend(figure)
    return figure


def draw_matrix(cells: pd.DataFrame) -> plt.Figure:
    """Draw the time of every program in every compiler over the least of the workload: a panel a workload.

    cells: replay rows of cells.csv. Columns are compilers, by letters that stand above the panels.
    """
    compilers = list(cells["compiler"].drop_duplicates())
    cells = over_best(cells)
    frameworks = list(cells["framework"].drop_duplicates())
    names, left_out = _panels(cells)
    height = 0.25 + 0.15 * max(1, len(frameworks))
    figure, axes = panels(len(names), 4, height, 0.55, sharex=True, sharey=True)
    letters = ascii_lowercase[: len(compilers)]
    for axis, (workload, name) in zip(axes.flat, names.items(), strict=False):
        here = cells[cells["workload"] == workload]
        _heat(axis, here, "compiler", frameworks, compilers, _scale(cells))
        axis.set_xticks(range(len(letters)), letters)
        axis.set_title(name)
    named = (f"{letter}  {compiler_title(one)}" for letter, one in zip(letters, compilers, strict=True))
    figure.suptitle("          ".join(named), fontsize=8)
    _legend(figure, f"Not drawn, nothing above {UNREMARKABLE}: {'; '.join(left_out)}." if left_out else "")
    return figure


def _legend(figure: plt.Figure, text: str = "") -> None:
    """Write a text below a figure, and what its cells without a number mean, if it has such cells."""
    drawn = {one.get_text() for axis in figure.axes for one in axis.texts}
    signs = [meaning for sign, meaning in SIGNS.items() if sign in drawn]
    figure.supxlabel(textwrap.fill(" ".join(filter(None, [text, *signs])), 150), fontsize=7.5)


def over_best(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells with `over_best`, the steady time over the least one of the workload.

    Workloads without any time are left out.
    """
    cells = cells.assign(over_best=cells["steady_ms"] / cells.groupby("workload")["steady_ms"].transform("min"))
    return cells[cells.groupby("workload")["over_best"].transform("count") > 0]


def _panels(cells: pd.DataFrame) -> tuple[dict[str, str], list[str]]:
    """Return {workload: title} of those that have a panel, and the titles of the others; all if none would have one."""
    titles = dict(zip(cells["workload"], cells["title"], strict=True))
    worst = cells.groupby("workload")["over_best"].max()
    shown = {workload: name for workload, name in titles.items() if worst[workload] > UNREMARKABLE}
    return (shown, [name for name in titles.values() if name not in shown.values()]) if shown else (titles, [])


def _scale(cells: pd.DataFrame) -> float:
    """Return the factor at which the colours of a figure end: few of its cells exceed it."""
    values = cells["over_best"].dropna()
    most = float(values.quantile(0.95)) if len(values) else 4.0
    return min(10.0, max(4.0, most))


def _heat(
    axis: plt.Axes, cells: pd.DataFrame, across: str, frameworks: list[str], columns: list[str], limit: float
) -> None:
    """Draw factors as colours and numbers, a row per framework; without a factor its status."""
    wide = cells.drop_duplicates(["framework", across])
    values, states = (
        wide.pivot(index="framework", columns=across, values=name).reindex(index=frameworks, columns=columns)
        for name in ("over_best", "status")
    )
    states = states.fillna(Status.NOT_RUN).replace(SHORT)
    if values.empty:
        axis.set_axis_off()
        return
    # A mesh, not an image: a figure is vectors alone.
    height, width = values.shape
    edges = [[number - 0.5 for number in range(count + 1)] for count in (width, height)]
    # From light to dark: the order is kept in grey print.
    axis.pcolormesh(*edges, values.to_numpy(float), cmap="YlOrBr", norm=LogNorm(1, limit))
    axis.set_ylim(height - 0.5, -0.5)
    axis.set_facecolor("#eeeeee")
    axis.set_yticks(range(height), map(title, frameworks))
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    for row in range(height):
        for column in range(width):
            value = values.iat[row, column]
            known = not pd.isna(value)
            is_dark = known and math.log(value) >= 0.54 * math.log(limit)  # enough for white numbers
            look = {"fontsize": 6.5 if known else 6, "color": "white" if is_dark else "black"}
            text = ("1" if value < 1.005 else numbers.ratio(value)) if known else states.iat[row, column]
            axis.text(column, row, text, ha="center", va="center_baseline", **look)


if __name__ == "__main__":
    command(write)
