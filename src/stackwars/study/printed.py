"""Programs that the paper prints, of the compared frameworks, and that the report shows, of every framework."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.study.keys import Config
from stackwars.study.programs import Program
from stackwars.study.studies import of_tables, with_programs

PROGRAM = "stablehlo.mlir.gz"
OPTIMISED = "optimised_cpu.hlo.gz"
"""File next to the program of a listed cell: the same program, optimised here by the frameworks' generation of XLA."""
Rows = dict[str, list[Cell]]
"""{workload: the cells whose texts stand side by side}."""


def listings(config: Config) -> Rows:
    """Return the cells whose programs the paper lists, on the first device."""
    return _rows(config, config.paper.listings, compared(config))


def forms(config: Config) -> Rows:
    """Return the cells whose forms the paper lists, on the first device: XLA's and TorchInductor's."""
    return _rows(config, config.paper.forms, config.paper.forms_of or [])


def graphs(config: Config) -> dict[str, list[Program]]:
    """Return the programs that the paper draws, by workload: those of the compared frameworks."""
    return {
        workload: [Program(name, workload) for name in compared(config)] for workload in config.paper.graphs
    }


def measured(config: Config, rows: Rows) -> Rows:
    return {workload: row for workload, row in rows.items() if is_of_run(config, row)}


def is_of_run(config: Config, row: Sequence[Cell | Program]) -> bool:
    """Return whether this run measures all of these cells, or lowers all of these programs.

    If it does not, they are printed from the reference.
    """
    if config.source == "reference":
        return False
    return {*cells.measured(config), *programs.base_programs(config)}.issuperset(row)


def compared(config: Config) -> list[str]:
    return [name for name in of_tables(config).programs if name in with_programs(config)]


def emitted(config: Config, measured: Path, accepted: Path) -> dict[str, dict[str, list[Path]]]:
    """Return {workload: {framework: files}} of every program that the report shows, in the order of the grid.

    The first file with a program counts: a file may hold the line that says why there is no program. The programs
    are those of the cells on the first device, and those that the compilers get. measured: the folder of the run, or of
    the reference, which also has the programs of its accepted runs, the newest first.
    """
    device = config.devices[0]
    files = [
        *(
            (cell.workload, cell.framework, measured / cell.path / PROGRAM)
            for cell in cells.measured(config)
            if cell.device == device
        ),
        *(
            (one.workload, one.framework, measured / one.path / "program.mlir.gz")
            for one in programs.base_programs(config)
        ),
    ]
    if config.source == "reference":
        accepted_files = sorted(accepted.glob(f"*/{device}/*/*/{PROGRAM}"), reverse=True)
        files = [one for one in files if one[-1].exists()]
        files += [(path.parent.name, path.parent.parent.name, path) for path in accepted_files]
    result: dict[str, dict[str, list[Path]]] = {}
    for workload in config.workloads:
        row = {name: [path for w, f, path in files if (w, f) == (workload, name)] for name in config.frameworks}
        row = {name: paths for name, paths in row.items() if paths}
        if len(row) > 1:
            result[workload] = row
    return result


def _rows(config: Config, workloads: Sequence[str], frameworks: Sequence[str]) -> Rows:
    if not frameworks or not set(frameworks) <= set(config.frameworks):
        return {}
    wanted = [workload for workload in workloads if workload in config.workloads]
    return {workload: [Cell(name, workload, config.devices[0]) for name in frameworks] for workload in wanted}
