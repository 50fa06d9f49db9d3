"""The tables of a run: their columns (columns.yaml), and how they are read and written.

Eight tables hold every result of a run: cells.csv (what was measured), programs.csv (what was emitted and
compiled), values.csv (whose values are right), rounds.csv (observations), comparisons.csv (ratios with intervals and
verdicts), causes.csv (why two programs differ in time or memory), releases.csv (which release changed a program) and
claims.csv. There are two summaries: profile.csv (time by class of operation) and effects.csv (factors of frontend,
compiler and interaction).
"""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from stackwars.core import documents


class Column(NamedTuple):
    """A column of a table: what its values are (number, text or flag), and what they mean."""

    kind: str
    about: str


_READ = yaml.load(Path(__file__).with_name("columns.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
QUANTITIES: dict[str, str] = _READ.pop("quantities")
"""Quantities of rounds.csv and comparisons.csv."""
TABLES: dict[str, dict[str, Column]] = {
    table: {name: Column(*column.split(": ", 1)) for name, column in columns.items()}
    for table, columns in _READ.items()
}
CELLS, PROGRAMS, ROUNDS, COMPARISONS, CLAIMS, PROFILE, EFFECTS, VALUES, CAUSES, RELEASES = TABLES.values()
CELL_KEYS = ["mode", "workload", "framework", "device", "compiler", "size", "value", "pass"]
PROGRAM_KEYS = ["workload", "framework", "level", "target", "compiler", "variant"]
COMPARISON_KEYS = [
    *("quantity", "workload", "device", "compiler", "baseline_compiler", "variant"),
    *("subject", "baseline", "baseline_workload"),
]
KEYS = {
    "cells": CELL_KEYS,
    "programs": PROGRAM_KEYS,
    "rounds": COMPARISON_KEYS,
    "comparisons": COMPARISON_KEYS,
    "claims": ["id"],
    "profile": ["workload", "framework", "compiler", "device", "class"],
    "effects": ["subset", "workload", "effect"],
    "values": ["workload", "framework", "compiler", "variant"],
    "causes": ["workload", "compiler", "device", "subject", "baseline"],
    "releases": ["workload", "framework", "project", "version"],
}
"""The columns that identify a row of each table."""

NATIVE, REPLAY, GROWTH, SHAPES, SHARDED = "native", "replay", "growth", "shapes", "sharded"
"""Modes of cells.csv."""
RAW, NORMALISED, OPTIMISED = "raw", "normalised", "optimised"
"""Levels of programs.csv."""
FORMS = ("flattening", "layernorm", "qkv", "contraction")
"""The original's claims about the structure of a program: a column of programs.csv each."""

STAGES = FIRST, SECOND, STEADY = "first", "second", "steady"
PROCESS, CONTROL, COMPILER, UNDISTURBED = "process", "control", "compiler", "undisturbed"
CPU_TIMES = STEADY_CPU, REPLAY_CPU = "steady_cpu", "replay_cpu"
NATIVE_CALLS = "native"
"""Native calls in the rounds of a replay."""
EVERYTHING_ELSE, MARGIN, PAIRWISE, FORM, SCALING = "everything else", "margin", "pairwise", "form", "scaling"
REMOVAL = "removal"
HBM, TEMPORARIES, LAYOUT, FUSIONS = "hbm", "temporaries", "layout", "fusions"
OPERATIONS, PROGRAM, BATCH = "operations", "program", "largest_batch"
STRUCTURE, LIKENESS, COLLECTIVES = "structure", "likeness", "collectives"
EXACT = (HBM, TEMPORARIES, LAYOUT, FUSIONS, OPERATIONS, PROGRAM, BATCH, STRUCTURE, LIKENESS, COLLECTIVES)
"""Quantities that are counted, not timed: no error, and the newest run's value stands for all."""


def key_of(row: dict) -> tuple[str, ...]:
    """Return what identifies a row of comparisons.csv; missing columns are empty."""
    return tuple(row.get(name, "") for name in COMPARISON_KEYS)


def table(name: str, rows: list[dict]) -> pd.DataFrame:
    """Return the table of this name from rows that have some of its columns.

    :raises ValueError: for a key that is not one of its columns.
    """
    columns = TABLES[name]
    unknown = sorted({key for row in rows for key in row} - columns.keys())
    if unknown:
        raise ValueError(
            f"{name}.csv: expected columns of columns.yaml, got {', '.join(unknown)}; fix: describe them there"
        )
    return typed(pd.DataFrame(rows, columns=list(columns)))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with every column of the kind that a table's column of its name has."""
    return pd.DataFrame(
        {name: _CONVERTED[_KINDS[name]](frame[name]) for name in frame.columns}, index=frame.index
    )


def _texts(values: pd.Series) -> pd.Series:
    return values.astype(object).where(values.notna(), "").map(str).astype(object)


def _flags(values: pd.Series) -> pd.Series:
    return values.map(lambda value: {"True": True, "False": False}.get(str(value))).astype(object)


_CONVERTED = {"number": lambda values: values.astype(float), "text": _texts, "flag": _flags}
_KINDS = {name: column.kind for columns in TABLES.values() for name, column in columns.items()}


def is_missing(value: object) -> bool:
    """Return whether a value of a table is missing: None, or a float NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def read(path: Path) -> pd.DataFrame:
    """Return a table with the columns of columns.yaml, whichever version wrote it.

    A column that is younger than the file is empty; one that no table has any more is left out.

    :raises Damaged: for a file that is no table, or without columns that identify a row.
    """
    try:
        result = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""], encoding="utf-8")
        if missing := [name for name in KEYS[path.stem] if name not in result.columns]:
            raise ValueError(f"one without the columns {', '.join(missing)}")
        return typed(result.reindex(columns=list(TABLES[path.stem])))
    except ValueError as error:  # of pandas, of Unicode, of a number
        raise documents.Damaged(path, " ".join(str(error).split())) from None


def write(frame: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.reindex(columns=list(TABLES[path.stem])).to_csv(path, index=False, encoding="utf-8")


def empty(name: str) -> pd.DataFrame:
    return table(name, [])


class Tables:
    """A folder with the tables of results and their context; each is read on first use."""

    folder: Path

    def table(self, name: str) -> pd.DataFrame:
        if name not in self._tables:
            self._tables[name] = read(self.folder / f"{name}.csv")
        return self._tables[name]

    @cached_property
    def _tables(self) -> dict[str, pd.DataFrame]:
        return {}

    @cached_property
    def context(self) -> dict:
        return documents.read(self.folder / "context.json")
