"""The table at the end of a run: every program that is wrong, crashed, did not end or ran outside its compiler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stackwars.results import native, raw, values
from stackwars.workflow.terminal import WIDTH

LINES = 20
"""Rows of the table; of more it says how many."""
OWN = "its own"
"""The compiler of a cell."""
LEAST_DETAIL = 20
"""Columns that the detail has at least."""
GAP = "  "


class Fault(NamedTuple):
    """A line of the table."""

    program: str
    compiler: str
    workload: str
    outcome: str
    detail: str


def collect(config: dict, root: Path) -> list[Fault]:
    """Return the faults of the checks and cells in a folder of results, one for each program, compiler and
    workload that has the same outcome at several sizes."""
    unique: dict[tuple[str, ...], Fault] = {}
    for fault in _every(config, raw.read(config, root)):
        unique.setdefault(fault[:-1], fault)
    return list(unique.values())


def _every(config: dict, measured: raw.Raw) -> Iterator[Fault]:
    for row in values.build(config, measured).to_dict("records"):
        if values.is_fault(row, "timeout"):
            yield _fault(row, row["compiler"])
    for row in native.rows(config, measured):
        if values.is_fault(row):
            yield _fault(row, OWN)


def _fault(row: dict, compiler: str) -> Fault:
    detail = " ".join(row["status_detail"].split())
    outcome = "outside" if values.OUTSIDE in detail else row["status"]
    return Fault(row["framework"], compiler, row["workload"], outcome, detail)


def table(faults: list[Fault], path: str) -> str:
    """Return the lines of the table, at most 80 columns wide; empty without a fault. path: where all of them are."""
    if not faults:
        return ""
    rows = [Fault._fields, *faults[:LINES]]
    widths = _widths(rows)
    lines = [
        GAP.join(_cut(text, width).ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    if len(faults) > LINES:
        lines.append(f"and {len(faults) - LINES} more: {path}")
    return "\n".join(lines)


def _widths(rows: list[tuple[str, ...]]) -> list[int]:
    """Return the widths of the columns: program and workload are cut until the detail has its least."""
    program, compiler, workload, outcome = (
        max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]
    )
    left = WIDTH - 4 * len(GAP) - compiler - outcome
    while program + workload > left - LEAST_DETAIL:
        program, workload = (program - 1, workload) if program > workload else (program, workload - 1)
    return [program, compiler, workload, outcome, left - program - workload]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 2]}.."
