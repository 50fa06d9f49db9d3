"""The whole of a study: of each workload the rows of this run, or else those of the accepted run that has most.

A run of all studies measures a core of some. What it did not measure is taken from the reference, one run for
each workload, so that whatever is compared was measured side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stackwars.results import runs
from stackwars.results.folder import REFERENCE, Folder
from stackwars.study.studies import Study

RUN: dict[str, str] = {
    "run": "the accepted run that the row is of; empty for this run (of the reference: its newest whole one)",
}


@dataclass(frozen=True)
class Source:
    """Where rows may come from: a folder with the tables of a run; run is empty for this one."""

    run: str
    folder: Path

    def table(self, name: str) -> pd.DataFrame | None:
        """One of its tables, or None where the run has none of that name."""
        path = self.folder / name
        return pd.read_csv(path) if path.exists() else None


def read_whole(path: Path, context: dict) -> pd.DataFrame:
    """stacks.csv, beyond.csv, matrix.csv or matrix_effects.csv; the run is "" for this one.

    With a column `here`: whether claims of these results rest on the row. Those of a run rest on its own rows
    alone, those of the reference on all.
    """
    table = pd.read_csv(path, dtype={"run": str})
    table["run"] = table["run"].astype(object).fillna("")
    table["here"] = (table["run"] == "") | (context["origin"] == "reference")
    return table


def that_ran(table: pd.DataFrame, column: str, share: float = 0.0) -> pd.DataFrame:
    """The rows whose value of the column has more than this share of its cells run."""
    ran = (table["status"] != "not run").groupby(table[column]).transform("mean")
    return table[ran > share]


def sources(folder: Folder) -> list[Source]:
    """This run, then the accepted ones, the newest first."""
    accepted = reversed(runs.read(REFERENCE))
    return [Source("", folder.results), *(Source(run.identity, run.folder) for run in accepted)]


def of_workloads(folder: Folder, name: str, context: dict) -> pd.DataFrame:
    """`by_workload` of a table of this run and the accepted ones. With `here`, as of `read_whole`."""
    tables = {source.run: source.table(folder[name].name) for source in sources(folder)}
    kept = by_workload({run: table for run, table in tables.items() if table is not None})
    return kept.assign(here=(kept["run"] == "") | (context["origin"] == "reference"))


def by_workload(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The rows of a table of several runs, each workload's of one of them, which the column `run` names.

    It is this run ("") where it ran any of them, else the accepted run that has most of them with a result, the
    first of those that have as many: a run measures the core of a study alone, and must not hide an older one
    of the whole.
    """
    parts = [table.iloc[:0].assign(run=run) for run, table in list(tables.items())[:1]]
    every = pd.concat([table["workload"] for table in tables.values()])
    for workload in every.drop_duplicates():
        own = {run: table[table["workload"] == workload] for run, table in tables.items()}
        run = "" if "" in own and _ran(own[""])[1] else max(own, key=lambda one: _ran(own[one]))
        parts.append(own[run].assign(run=run))
    return pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)


def rows(study: Study, table: str, found: list[Source], names: tuple[str, ...]) -> pd.DataFrame:
    """The rows of a study in this table (replay.csv, frame.csv), each with its run.

    names: the frameworks whose rows count. Of each workload they are of the first source, this run, if none ran
    more of them, whatever became of them; else of the one that has most with the status ok, of those that have
    as many the one that ran most, and of these the first. No row of a workload that no source has.
    """
    read = [(source, _of(study, source.table(table), names)) for source in found]
    # The columns stay where the study has none of the run's workloads.
    parts = [read[0][1].iloc[:0].assign(run="")]
    for workload in study.workloads:
        own = [(source, part[part["workload"] == workload]) for source, part in read]
        here, most = (_ran(own[0][1])[1], max(_ran(part)[1] for _, part in own))
        best = own[0] if here and here == most else max(own, key=lambda pair: _ran(pair[1]))
        parts.append(best[1].assign(run=best[0].run))
    return pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)


def _ran(table: pd.DataFrame) -> tuple[int, int]:
    """(how many rows gave a result, how many were run: one that ran out of memory has a status too).

    A table without a status has only rows that gave one.
    """
    status = table.get("status", pd.Series("ok", index=table.index))
    return int((status == "ok").sum()), int((status != "not run").sum())


def _of(study: Study, table: pd.DataFrame | None, names: tuple[str, ...]) -> pd.DataFrame:
    if table is None:
        return pd.DataFrame(columns=["workload", "framework", "status"])
    kept = table["framework"].isin(names) & table["workload"].isin(study.workloads)
    if study.devices:
        kept &= table["device"].isin(study.devices)
    if "compiler" in table:
        kept &= table["compiler"].isin(study.compilers)
    return table[kept]
