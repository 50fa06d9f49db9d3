"""Draw the figures of native calls: ratios, latency against call number, and every stack."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from stackwars.core import documents
from stackwars.core.documents import event
from stackwars.core.outcome import Status
from stackwars.measure import workloads
from stackwars.measure.frameworks import program_of, title
from stackwars.publish.paper.figures.heat import draw_stacks
from stackwars.publish.paper.figures.ratios import draw_ratios
from stackwars.publish.paper.figures.style import RC, line_look, panels, round_ticks, save
from stackwars.setup.device import CPU
from stackwars.study.cells import Cell
from stackwars.study.comparisons import CELLS, comparisons
from stackwars.study.keys import Config
from stackwars.study.results import schema
from stackwars.study.results.dataset import Dataset, sources
from stackwars.study.results.folder import Folder, command

FOLDER = "cell_figures"
MARKED = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Points with a mark: evenly spread on a logarithmic axis."""


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
    return singles + [
        (3 + number * steady["calls"], ns / steady["calls"] / 1e6) for number, ns in enumerate(steady["ns"])
    ]


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
    handles = [plt.Line2D([], [], label=title(name), **line_look(name, frameworks)) for name in shown]
    figure.legend(handles=handles, loc="outside upper center", ncols=max(1, len(handles)))
    return figure


def _series(axis: plt.Axes, by_call, look: dict) -> None:
    middle = by_call.median()
    marks = [number - 1 for number in MARKED if number <= len(middle)]
    axis.plot(middle.index, middle, markevery=marks, **look)
    ends = (by_call.min(), by_call.max())
    axis.fill_between(middle.index, *ends, color=look["color"], alpha=0.2, linewidth=0)


def _log_axes(axis: plt.Axes) -> None:
    axis.loglog()
    for side, is_whole in ((axis.xaxis, True), (axis.yaxis, False)):
        ticks = [
            tick for tick in round_ticks(*side.get_view_interval(), most=5) if not is_whole or tick % 1 == 0
        ]
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


if __name__ == "__main__":
    command(write)
