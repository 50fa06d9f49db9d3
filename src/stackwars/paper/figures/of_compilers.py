"""Draw the figures of programs and of what compiles them, and programs as graphs."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from stackwars.paper.figures.heat import draw_matrix
from stackwars.paper.figures.of_cells import chosen
from stackwars.paper.figures.op_times import draw_op_times
from stackwars.paper.figures.ratios import draw_compilers, draw_split
from stackwars.paper.figures.stack import draw_stack
from stackwars.paper.figures.style import draw_graphs, save
from stackwars.results import schema
from stackwars.results.dataset import Dataset, sources
from stackwars.results.folder import Folder, command
from stackwars.setup.device import CPU
from stackwars.study.comparisons import PROGRAMS, Comparison, comparisons
from stackwars.study.programs import native_compiler

FOLDER = "compiler_figures"


def figures(config: dict, folder: Folder) -> dict[str, Figure]:
    """Return {name: figure}."""
    datasets = sources(config, folder)
    tables, matrix = datasets.of("tables"), datasets.of("matrix")
    main = comparisons(config, PROGRAMS)[0]
    # Of the tables' source, and of the compilers of the matrix as far as it has them.
    profile = tables.rows("profile", "matrix")
    return {
        "compilers": draw_compilers(
            pair_of(matrix, "matrix", main, schema.REPLAY), main, list(matrix.study("matrix").compilers)
        ),
        "stack": draw_stack(),
        "split": draw_split(factors(config, tables, main), main),
        "matrix": draw_matrix(matrix.rows("cells", "matrix", schema.REPLAY)),
        "op_times": draw_op_times(profile[profile["workload"].isin(chosen(config, tables))], main),
    }


def pair_of(data: Dataset, study: str, pair: Comparison, quantity: str) -> pd.DataFrame:
    """Return the comparisons of a pair on the CPU."""
    sides = {"subject": pair.subject, "baseline": pair.baseline}
    return data.comparisons(study, quantity=quantity, device=CPU, **sides)


def factors(config: dict, data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return the native ratios of a pair and their two factors, in the compiler that both use natively."""
    rows = pd.concat(
        [pair_of(data, "tables", pair, name) for name in (schema.STEADY, schema.REPLAY, schema.RUNTIME)]
    )
    return rows[rows["compiler"].isin(("", native_compiler(config)))]


def write(config: dict, folder: Folder) -> None:
    """Write each to <name>.pdf, and the graph of a workload's programs to graph-<workload>.pdf."""
    save(lambda: figures(config, folder), folder[FOLDER])
    draw_graphs(folder["graphs"], folder[FOLDER])


if __name__ == "__main__":
    command(write)
