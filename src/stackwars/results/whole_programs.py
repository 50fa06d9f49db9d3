"""The successor's programs in this run's tables of programs: those that it has not made are of accepted runs.

``python -m stackwars.results.whole_programs`` completes ir_metrics.csv and structure.csv, which are made in an
environment without pandas. What a compiler makes of a program is the same on every machine, so rows of two runs
can stand side by side where the sizes are the same: a smoke run takes none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from stackwars.measure import documents
from stackwars.results.folder import MADE, Folder, command
from stackwars.results.whole_study import Source, sources
from stackwars.study import cells
from stackwars.study.studies import Study, whole

STUDY = "successor"
FORM = ("metrics", "structure")
_KEYS = ["workload", "framework"]


def complete(config: dict, folder: Folder, *names: str) -> None:
    """Write the tables of these names again, with the study's programs and a column `run` as of `RUN`."""
    study = whole(config, STUDY) if STUDY in config["studies"] else None
    sizes = {name: cells.sizes(config, name) for name in (study.workloads if study else ())}
    for name in names:
        table = of_runs(study, folder[name].name, sources(folder), sizes)
        table.to_csv(folder[name], index=False)


def of_runs(
    study: Study | None, name: str, found: list[Source], sizes: dict[str, dict[str, int]]
) -> pd.DataFrame:
    """The first run's table, as text, and the rows of the study's programs that it lacks.

    Of each workload and framework they are of the newest accepted run that has any that was run, in place of
    rows `not run`, and whose sizes of the workload are these.
    """
    same = {source.run: _same(source, sizes) for source in found[1:]}
    known = {source.run: _own(source, name) for source in found}
    table = known.pop("").assign(run="")
    for run, other in known.items() if study else ():
        wanted = other["framework"].isin(study.programs) & other["workload"].isin(same[run])
        wanted &= _ran(other) & ~_among(other, table[_ran(table)])
        added = other[wanted].assign(run=run)
        if "origin" in added:
            added["origin"] = "reference"
        table = pd.concat([table[~_among(table, added)], added], ignore_index=True)
    return table


def _own(source: Source, name: str) -> pd.DataFrame:
    """A run's rows as written, but for those that it took from others; none where it lacks the table."""
    path = source.folder / name
    if not path.exists():
        return pd.DataFrame(columns=_KEYS)
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    return table[table["run"] == ""] if "run" in table else table


def _same(source: Source, sizes: dict[str, dict[str, int]]) -> list[str]:
    """The workloads that an accepted run had with these sizes."""
    theirs = documents.read(source.folder / MADE["context"])["sizes"]
    return [name for name, own in sizes.items() if theirs.get(name) == own]


def _ran(table: pd.DataFrame) -> pd.Series:
    """Which rows were run; in a table without a status all."""
    return table["status"] != "not run" if "status" in table else pd.Series(True, table.index)


def _among(table: pd.DataFrame, others: pd.DataFrame) -> pd.Series:
    """Which rows are of a workload and framework of the others."""
    there = pd.MultiIndex.from_frame(others[_KEYS])
    return pd.Series(pd.MultiIndex.from_frame(table[_KEYS]).isin(there), table.index)


def read(path: Path, reader: Callable[[Path], pd.DataFrame], context: dict) -> pd.DataFrame:
    """The rows of the study in a table, with `run` and `here` as of `read_whole`; reader: reads it.

    A configuration without the study has no row of it, and a table of before it has no row of another run.
    """
    table = reader(path)
    table["run"] = table["run"].fillna("") if "run" in table else ""
    row = context["studies"].get(STUDY, {"programs": [], "workloads": []})
    kept = table["framework"].isin(row["programs"]) & table["workload"].isin(row["workloads"])
    kept = table[kept & _ran(table)].reset_index(drop=True)
    return kept.assign(here=(kept["run"] == "") | (context["origin"] == "reference"))


def write(config: dict, folder: Folder) -> None:
    """ir_metrics.csv and structure.csv, completed."""
    complete(config, folder, *FORM)


if __name__ == "__main__":
    command(write)
