"""The programs that compute wrong values, crash, do not end or leave their compiler, from values.csv."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from textwrap import shorten

import pandas as pd

from stackwars.core.outcome import Status
from stackwars.measure.frameworks import title
from stackwars.publish.paper.tables.table import RAGGED, Column, Table, frame
from stackwars.study.results.dataset import Sources
from stackwars.study.results.names import compiler_title
from stackwars.study.results.programs import is_fault
from stackwars.study.results.published import read_faults

NAME, PUBLIC = NAMES = "faults", "public_faults"
DETAIL = 120
"""Characters of a reason that are shown."""


def fault_rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each fault: the programs that have it in the same compilers, and their smallest sizes."""
    data = sources.checked()
    checked = data.table("values")
    failed = [is_fault(row, Status.TIMEOUT) for row in checked.to_dict("records")]
    faults = checked[pd.Series(failed, index=checked.index, dtype=bool)]
    alike: dict[tuple, list[pd.DataFrame]] = defaultdict(list)
    for (workload, _, status), rows in faults.groupby(["workload", "framework", "status"], sort=False):
        variants = tuple(dict.fromkeys(rows["variant"]))
        alike[workload, status, variants, tuple(dict.fromkeys(rows["compiler"]))].append(rows)
    result = [_row(pd.concat(rows), checked, compilers) for (*_, compilers), rows in alike.items()]
    whose = "Newest check of each over the accepted runs." if data.is_reference else "Checked in this run."
    return frame(result, whose)


def public_rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each outcome of each program of tests/explain/public that has a known fault."""
    known = read_faults().fillna("")
    keys = ["title", "issue", "sizes", "status", "programs"]
    groups = known[known["status"] != Status.UNSUPPORTED].groupby(keys, sort=False)
    result = []
    for key, rows in groups:
        row = dict(zip(keys, key, strict=True))
        row |= {"sizes": _spelled(row["sizes"]), "programs": _names(map(title, row["programs"].split()))}
        row |= {"compiler": _names(map(compiler_title, rows["compiler"])), "cure": rows["cure"].iloc[0]}
        result.append(row)
    return frame(result)


def _spelled(sizes: str) -> str:
    return sizes.replace(" ", ", ").replace("=", " ").replace("_", " ")


def _row(faults: pd.DataFrame, checked: pd.DataFrame, compilers: tuple[str, ...]) -> dict:
    smallest = min(faults.to_dict("records"), key=lambda row: _extent(row["sizes"]))
    programs = tuple(dict.fromkeys(faults["framework"]))
    same_sizes = _same(checked, smallest, ["workload", "variant"])
    ok = same_sizes[same_sizes["status"] == Status.OK]
    tried = _same(checked, smallest, ["workload", "framework", "compiler"])
    return {
        "workload": smallest["title"],
        "sizes": _spelled(smallest["sizes"]),
        "at": f"{faults['variant'].nunique()} of {len(tried)}",
        "program": _names(map(title, programs)),
        "compiler": _names(map(compiler_title, compilers)),
        "status": smallest["status"],
        "detail": shorten(smallest["status_detail"].partition("\n")[0], DETAIL, placeholder=" ..."),
        "programs": _names(map(title, _common(ok, "compiler", compilers, "framework"))),
        "compilers": _names(map(compiler_title, _common(ok, "framework", programs, "compiler"))),
    }


def _common(ok: pd.DataFrame, column: str, values: tuple[str, ...], wanted: str) -> list[str]:
    """Return the programs (or compilers) that are right with all of these compilers (or programs)."""
    counts = ok[ok[column].isin(values)].groupby(wanted, sort=False)[column].nunique()
    return list(counts[counts == len(values)].index)


def _same(table: pd.DataFrame, row: dict, columns: list[str]) -> pd.DataFrame:
    """Return the rows that have a row's values in these columns."""
    return table[(table[columns] == [row[name] for name in columns]).all(axis=1)]


def _extent(sizes: str) -> int:
    """Return the product of sizes such as ``m=17 k=31``."""
    return math.prod(int(size.partition("=")[2]) for size in sizes.split())


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _wide(share: float) -> str:
    return rf"{RAGGED}p{{{share}\textwidth}}"


TABLES = (
    Table(
        name=NAME,
        caption="Programs with Wrong Values, a Crash or No End, by Compiler",
        rows=fault_rows,
        columns=(
            *(Column("Workload", "workload"), Column("Smallest sizes", "sizes", align=_wide(0.1))),
            *(Column("At", "at"), Column("Programs", "program", align=_wide(0.11))),
            Column("Compilers", "compiler", align=_wide(0.12)),
            *(Column("Status", "status"), Column("What", "detail", align=_wide(0.2))),
            Column("Right programs", "programs", align=_wide(0.12)),
            Column("Right compilers", "compilers", align=_wide(0.11)),
        ),
        group_by="workload",
        note=r"""Smallest sizes: of those at which the programs fail; at: at how many of the sizes that were checked.
        Right programs: those that these compilers compile rightly at the same sizes; right compilers: those that
        compile these programs rightly. A program that no compiler gets right is at fault itself.""",
        empty="no program that was checked is wrong, crashes or does not end",
        max_rows=20,
    ),
    Table(
        name=PUBLIC,
        caption="Known Faults, Rebuilt as Tests: Which Program Is Wrong in Which Compiler",
        rows=public_rows,
        columns=(
            *(Column("Program", "title"), Column("Report", "issue", align=_wide(0.13))),
            Column("Smallest failing sizes", "sizes", align=_wide(0.12)),
            *(Column("Compiler", "compiler", align=_wide(0.14)), Column("Status", "status")),
            Column("Of the frontends", "programs", align=_wide(0.2)),
            Column("Cured by", "cure", align=_wide(0.22)),
        ),
        note=r"""Every other program that a compiler accepts is right, in these compilers and in the others. A test runs
        a guilty and a right program of each, and fails when a new version repairs the fault. Report: the first that
        describes the fault or led to it; \code{docs/upstream.md} has those that nobody had reported.""",
    ),
)
