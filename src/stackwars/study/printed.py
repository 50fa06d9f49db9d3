"""Whose programs the paper prints, those of the compared frameworks, and which the report shows: every one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.study.comparisons import with_programs
from stackwars.study.programs import Program
from stackwars.study.studies import of_tables

PROGRAM = "stablehlo.mlir.gz"
OPTIMISED = "optimised_cpu.hlo.gz"
"""Beside the program of a cell that is listed: what the frameworks' own generation of XLA makes of it here."""


def listed(config: dict) -> dict[str, list[Cell]]:
    """The cells whose programs are listed, by workload: on the first device, where it has all of them."""
    return _rows(config, config["paper"]["listings"], _listed_frameworks(config))


def listed_elsewhere(config: dict, accepted: Path) -> dict[str, dict[str, Path]]:
    """{workload: {framework: file}} of those that this run does not measure, each of one accepted run.

    accepted: the folder of the accepted runs, in that of the reference, which has the programs of one of them
    alone. Of a workload the newest that has the program of every framework.
    """
    own, found = listed(config), {}
    if config["results"] == "reference":
        own = {
            workload: row
            for workload, row in own.items()
            if all((accepted.parent / cell.path / PROGRAM).exists() for cell in row)
        }
    for workload in config["paper"]["listings"]:
        row = [Cell(name, workload, config["devices"][0]) for name in _listed_frameworks(config)]
        for run in sorted(accepted.glob("*"), reverse=True) if workload not in own else ():
            files = {cell.framework: run / cell.path / PROGRAM for cell in row}
            if row and all(file.exists() for file in files.values()):
                found[workload] = files
                break
    return found


def emitted(config: dict, measured: Path, accepted: Path) -> dict[str, dict[str, list[Path]]]:
    """{workload: {framework: files}} of every program that the report shows, in the order of the grid; the
    first of the files with a program has it, for one may hold the line that says why there is none.

    Those are the programs of the cells on the first device, and those that the compilers are given. Of the
    reference, whose folder is `measured`, they are those that it has and then the accepted runs', the newest
    first. Of a run, the workloads that it has not are those of `listed_elsewhere`.
    """
    device, is_reference = config["devices"][0], config["results"] == "reference"
    files = [
        (cell.workload, cell.framework, measured / cell.path / PROGRAM)
        for cell in cells.asked(config)
        if cell.device == device
    ] + [
        (program.workload, program.framework, measured / program.path / "program.mlir.gz")
        for program in programs.base_programs(config)
    ]
    if is_reference:
        kept = sorted(accepted.glob(f"*/{device}/*/*/{PROGRAM}"), reverse=True)
        files = [one for one in files if one[-1].exists()]
        files += [(path.parent.name, path.parent.parent.name, path) for path in kept]
    else:
        elsewhere = listed_elsewhere(config, accepted).items()
        files += [
            (workload, name, path) for workload, row in elsewhere for name, path in row.items()
        ]
    found: dict[str, dict[str, list[Path]]] = {
        workload: {name: [] for name in config["frameworks"]} for workload in config["workloads"]
    }
    for workload, framework, path in files:
        if framework in found.get(workload, {}):
            found[workload][framework].append(path)
    rows = {
        workload: {name: paths for name, paths in row.items() if paths}
        for workload, row in found.items()
    }
    return {workload: row for workload, row in rows.items() if len(row) > 1}


def _listed_frameworks(config: dict) -> list[str]:
    return [n for n in of_tables(config).programs if n in with_programs(config)]


def with_forms(config: dict) -> dict[str, list[Cell]]:
    """The cells whose forms are listed, by workload, likewise: XLA's, and TorchInductor's beside it."""
    printed = config["paper"]
    return _rows(config, printed.get("forms", []), printed.get("forms_of", []))


def _rows(config: dict, workloads: list[str], frameworks: Sequence[str]) -> dict[str, list[Cell]]:
    asked, found = set(cells.asked(config)), {}
    for workload in workloads:
        row = [Cell(name, workload, config["devices"][0]) for name in frameworks]
        if row and asked.issuperset(row):
            found[workload] = row
    return found


def drawn(config: dict) -> list[Program]:
    """The programs that are drawn as graphs, in the order of the grid."""
    wanted = config["paper"]["graphs"]
    study = of_tables(config)
    return [
        p
        for p in programs.base_programs(config)
        if p.workload in wanted and p.framework in study.programs
    ]


def graphed(config: dict) -> list[Program]:
    """The programs whose graphs the report has: every one of the frameworks that the tables compare."""
    compared = of_tables(config).programs
    return [p for p in programs.base_programs(config) if p.framework in compared]
