"""Whose programs the paper prints: those of the compared frameworks, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.study.comparisons import with_programs
from stackwars.study.programs import Program
from stackwars.study.studies import of_tables

WITH_FORMS = ("jax", "torch_inductor")
"""The frameworks of which the paper lists what their compilers make of a program."""


def listed(config: dict) -> dict[str, list[Cell]]:
    """The cells whose programs are listed, by workload: on the first device, where it has all of them."""
    names = [n for n in of_tables(config).programs if n in with_programs(config)]
    return _rows(config, config["paper"]["listings"], names)


def with_forms(config: dict) -> dict[str, list[Cell]]:
    """The cells of WITH_FORMS whose forms are listed, by workload, likewise."""
    return _rows(config, config["paper"].get("forms", []), WITH_FORMS)


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
