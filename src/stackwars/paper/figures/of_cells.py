"""Draw the figures of native calls: ratios, latencies by call, and every stack."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from stackwars.frameworks import program_of
from stackwars.paper.figures.calls import draw_calls, read_calls
from stackwars.paper.figures.heat import draw_stacks
from stackwars.paper.figures.ratios import draw_ratios
from stackwars.paper.figures.style import save
from stackwars.results import schema
from stackwars.results.dataset import Dataset, sources
from stackwars.results.folder import Folder, command
from stackwars.setup.device import CPU
from stackwars.study.comparisons import CELLS, comparisons

FOLDER = "cell_figures"


def figures(config: dict, folder: Folder) -> dict[str, Figure]:
    """Return {name: figure}."""
    datasets = sources(config, folder)
    tables = datasets.of("tables")
    main = comparisons(config, CELLS)[0]
    steady = tables.comparisons("tables", quantity=schema.STEADY, baseline=main.baseline, device=CPU)
    frameworks = list(tables.study("tables").frameworks)
    return {
        "ratios": draw_ratios(steady[steady["subject"].map(program_of) == main.subject], main.baseline),
        "calls": draw_calls(read_calls(tables.measured, chosen(config, tables), frameworks), frameworks),
        **{study: draw_stacks(on_cpu(datasets.of(study), study)) for study in ("stacks", "beyond")},
    }


def on_cpu(data: Dataset, study: str) -> pd.DataFrame:
    """Return the native cells of a study on the CPU."""
    cells = data.rows("cells", study)
    return cells[cells["device"] == CPU]


def chosen(config: dict, data: Dataset) -> list[str]:
    """Return the workloads of paper.calls that have a time, or else the first four that have one."""
    cells = on_cpu(data, "tables")
    ran = list(cells[cells["status"] == "ok"]["workload"].drop_duplicates())
    return [name for name in config["paper"]["calls"] if name in ran] or ran[:4]


def write(config: dict, folder: Folder) -> None:
    """Write each to <name>.pdf."""
    save(lambda: figures(config, folder), folder[FOLDER])


if __name__ == "__main__":
    command(write)
