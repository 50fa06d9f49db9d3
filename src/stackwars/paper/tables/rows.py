"""What the rows of several tables share: grouping, framework, origin and intervals."""

from __future__ import annotations

from collections.abc import Callable

import pandas

from stackwars import frameworks
from stackwars.paper.latex import escape, series, significant
from stackwars.paper.tables.tabular import GAP
from stackwars.results import published
from stackwars.results.values import is_missing, is_true
from stackwars.results.verdicts import NO_STEADY_STATE, Finding
from stackwars.setup.device import CPU

STAGES = ["first", "second", "steady"]
UNGATED = r"$^{\dagger}$"
UNGATED_NOTE = (
    r"$\dagger$: too few blocks were uncontended, so all are used, and the number may reflect other load "
    r"on the machine. "
)
UNSETTLED = r"$^{\S}$"
UNSETTLED_NOTE = r"$\S$: the calls reach no steady state; a median. "
CONTENDED = r"$^{\ddagger}$"
CONTENDED_NOTE = (
    r"$\ddagger$: one framework kept over 20 percentage points more of its blocks than the other. "
)
APART = r"$^{*}$"
APART_NOTE = r"$*$: of blocks measured separately, not interleaved. "
_NOTES = {
    APART: APART_NOTE,
    UNSETTLED: UNSETTLED_NOTE,
    UNGATED: UNGATED_NOTE,
    CONTENDED: CONTENDED_NOTE,
}


def mark_notes(lines: list[str]) -> str:
    """What the marks in these rows mean; of a mark that none of them has, nothing."""
    return "".join(note for mark, note in _NOTES.items() if any(mark in line for line in lines))


def origins(frame: pandas.DataFrame) -> str:
    """The origin of a whole table, for its note: measured in this run, or from the reference's."""
    return f"Origin: {origin(frame)}."


def origins_of(findings: list[Finding], own: str) -> str:
    """The same for the findings of a study, which are of this run or of a run of the reference.

    own: the origin of this run's.
    """
    elsewhere = list(dict.fromkeys(f["title"] for f in findings if not f["here"]))
    if not elsewhere:
        return f"Origin: {escape(own)}."
    if not any(f["here"] for f in findings):
        return "Origin: a run of the reference."
    return f"Origin: {escape(own)}; of {series(elsewhere)}, a run of the reference."


def runs_of(findings: list[Finding]) -> str:
    """Which workloads are of which run, where runs measured them one by one."""
    titles: dict[str, list[str]] = {}
    for one in findings:
        titles.setdefault(one["run"], []).append(one["title"])
    parts = [
        f"{series(dict.fromkeys(of))}: {f'the accepted run {run}' if run else 'this build'}"
        for run, of in titles.items()
    ]
    return f"Origin: {'; '.join(parts) or 'this build'}."


def origin(frame: pandas.DataFrame) -> str:
    """Its words alone."""
    known = frame.origin[frame.origin.notna() & (frame.origin != "")].drop_duplicates()
    return ", ".join(map(escape, known)) or "none"


LEAST, MOST = 0.001, 100_000
"""Beyond these an end of an interval is not printed."""


def interval(low: float, high: float, digits: int = 3) -> str:
    """``[low, high]``, or a dash with fewer than two rounds."""
    if is_missing(low) or is_missing(high):
        return "---"
    return f"[{_end(low, digits)}, {_end(high, digits)}]"


def _end(value: float, digits: int) -> str:
    """An end of an interval; from two rounds it may be so far off that its number says nothing."""
    if value < LEAST:
        return rf"$<${LEAST}"
    return significant(value, digits) if value < MOST else rf"$>${MOST:,}"


def steady_mark(gated: object, steady_class: object = None) -> str:
    """The marks of a steady latency of calls that never settle, and of one not of uncontended blocks alone."""
    unsettled = UNSETTLED if steady_class == NO_STEADY_STATE else ""
    return unsettled + ("" if is_true(gated) else UNGATED)


def whole(value: float) -> str:
    """A count, or a dash."""
    return "---" if is_missing(value) else f"{value:.0f}"


def share(value: float, digits: int = 2) -> str:
    """A share of 1 as a percentage, or a dash."""
    return "---" if is_missing(value) else rf"{significant(100 * value, digits)}\,\%"


def framework_cell(row_: pandas.Series | published.Pair) -> str:
    """The framework, with the device where that is not all of the CPU; a variant stands indented."""
    variant = frameworks.variant(row_.framework)
    name = variant or frameworks.title(row_.framework)
    indent = r"\quad " if variant else ""
    return indent + escape(name if row_.device == CPU else f"{name}, {row_.device}")


def grouped(cells: pandas.DataFrame, line: Callable[[pandas.Series, bool], str]) -> list[str]:
    """One line per cell, with a gap between workloads; ``line`` learns which cell is first."""
    lines: list[str] = []
    previous = None
    for _, cell in cells.iterrows():
        group = (cell.workload, cell.device)
        if previous is not None and group != previous:
            lines.append(GAP)
        lines.append(line(cell, group != previous))
        previous = group
    return lines


def over(table: pandas.DataFrame, name: str) -> str:
    """What the intervals of a table's ratios are over: the rounds of this run, or the reference's runs.

    name: the beginning of the names of the ratio's columns.
    """
    runs = table[f"{name}_runs"].max() if len(table) else 1
    if is_missing(runs) or runs <= 1:
        return "over the rounds of this run"
    machines = table[f"{name}_machines"].max()
    most = table.groupby("framework", sort=False)[f"{name}_runs"].max()
    fewer = [f"{frameworks.title(f)}'s over {n:.0f}" for f, n in most.items() if n < runs]
    rest = (
        f" ({escape(', '.join(fewer))}, with a variance borrowed from the others)" if fewer else ""
    )
    return (
        f"over up to {runs:.0f} runs on {machines:.0f} kind{'s' if machines > 1 else ''} of machine, with the "
        f"variance between them{rest}"
    )
