"""Whose programs the paper prints: those of the compared frameworks, side by side."""

from __future__ import annotations

from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.study.comparisons import with_programs
from stackwars.study.programs import Program
from stackwars.study.studies import of_tables


def listed(config: dict) -> dict[str, list[Cell]]:
    """The cells whose programs are listed, by workload: on the first device, where it has all of them."""
    asked, found = set(cells.asked(config)), {}
    for workload in config["paper"]["listings"]:
        names = [n for n in of_tables(config).programs if n in with_programs(config)]
        row = [Cell(name, workload, config["devices"][0]) for name in names]
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
