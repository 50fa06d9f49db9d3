"""Whose programs the paper prints: those of the compared frameworks, side by side."""

from __future__ import annotations

from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.study.comparisons import with_programs
from stackwars.study.programs import Program


def listed(config: dict) -> dict[str, list[Cell]]:
    """The cells whose programs are listed, by workload: on the first device, where it has all of them.

    A framework without cells there is not listed.
    """
    asked, found, device = set(cells.asked(config)), {}, config["devices"][0]
    alone = [name for name, row in config["frameworks"].items() if "environments" not in row]
    names = [name for name in with_programs(config) if name not in alone]
    for workload in config["paper"]["listings"]:
        row = [Cell(name, workload, device) for name in names]
        if row and asked.issuperset(row):
            found[workload] = row
    return found


def drawn(config: dict) -> list[Program]:
    """The programs that are drawn as graphs, in the order of the grid."""
    wanted = config["paper"]["graphs"]
    return [p for p in programs.base_programs(config) if p.workload in wanted]
