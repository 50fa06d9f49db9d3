"""The rows that a claim is about, and what each of them is called."""

from __future__ import annotations

from typing import Any

import pandas as pd

from stackwars import frameworks, workloads
from stackwars.audits import audit_entries
from stackwars.claims.definitions import AUDITS, COLUMNS, Claim, listed, study_of
from stackwars.results import runs, schema
from stackwars.results.dataset import SIDES, Dataset, newest_runs, of_study
from stackwars.results.folder import MEASURED
from stackwars.results.names import compiler_title
from stackwars.results.schema import is_missing
from stackwars.study import sharding

KEYS = {**schema.KEYS, AUDITS: ["id"]}
"""The columns that identify a row of each table."""
_TELLING = (
    *("baseline", "compiler", "variant", "size", "value", "pass", "device", "target", "mode"),
    *("level", "quantity", "baseline_workload", "baseline_compiler", "effect", "subset"),
)
"""The columns that tell rows of one title apart, the first that is needed first."""


def rows(claim: Claim, dataset: Dataset) -> pd.DataFrame:
    """Return the rows that a claim is about.

    Of cells and programs, every workload's are of one run; comparisons are pooled over the runs. A
    configuration without the claim's study has none.
    """
    query = claim.query
    table, where = query["table"], query["where"]
    if table == AUDITS:
        result = _audits(dataset)
        return result[matches(result, where)]
    study = study_of(dataset.config, claim)
    if study not in dataset.config["studies"]:
        return schema.empty(table)
    if table == "comparisons":
        result = dataset.comparisons(study)
    elif table == "cells":
        modes = listed(where.get("mode", schema.NATIVE))
        result = pd.concat([dataset.rows("cells", study, mode) for mode in modes], ignore_index=True)
    else:
        result = of_study(dataset.study(study), dataset.table(table))
    result = result[matches(result, where)]
    if table == "programs":
        # Chosen from what the claim is about: a run may have more programs of a workload and none for this target.
        result = result[result["run"] == result["workload"].map(newest_runs(dataset, result, study)).fillna("")]
    return result


def matches(table: pd.DataFrame, where: dict[str, Any]) -> pd.Series:
    """Return which rows have these values: one of them if a list is given, any if `present` is asked for."""
    result = pd.Series(True, index=table.index)
    for column, wanted in where.items():
        if isinstance(wanted, dict):
            result &= table[column].map(lambda value: not is_missing(value) and value != "")
        else:
            result &= table[column].isin(listed(wanted))
    return result


def identity(row: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """Return the identifying columns of a row that have a value."""
    return {name: row[name] for name in columns if not is_missing(row[name]) and row[name] != ""}


def titles(found: list[dict[str, Any]], columns: list[str]) -> list[str]:
    """Return what each row is called, ``MHA under torch_xla (jaxlib 0.7.1)``.

    The framework is named if there are several, and those of the columns that tell rows of one name apart.
    """
    several = [name for name in SIDES if name in columns and len({row[name] for row in found}) > 1]
    names = [_title(row) + "".join(f" under {_side(row, name)}" for name in several) for row in found]
    details: list[list[str]] = [[] for _ in found]
    shown = names
    for column in (name for name in _TELLING if name in columns):
        more = [[*detail, *_text(column, row[column])] for row, detail in zip(found, details, strict=True)]
        if len(set(_joined(names, more))) > len(set(shown)):
            details, shown = more, _joined(names, more)
    return shown


def _audits(dataset: Dataset) -> pd.DataFrame:
    """Return the audits of a run; those of the reference lie beside what it keeps of the measurements."""
    folder = runs.REFERENCE if dataset.is_reference else dataset.measured
    return pd.DataFrame(audit_entries.read(folder / MEASURED["audits"]).entries)[list(COLUMNS[AUDITS])]


def _title(row: dict[str, Any]) -> str:
    return row.get("title") or workloads.load(row["workload"]).TITLE


def _side(row: dict[str, Any], column: str) -> str:
    is_frontend = row.get("mode") == schema.SHARDED
    return sharding.title(row[column]) if is_frontend else frameworks.title(row[column])


def _joined(names: list[str], details: list[list[str]]) -> list[str]:
    return [f"{name} ({', '.join(some)})" if some else name for name, some in zip(names, details, strict=True)]


def _text(column: str, value: Any) -> list[str]:
    """Return how a value is shown; nothing if there is none."""
    if is_missing(value) or value == "":
        return []
    if column == "baseline":
        return [f"over {frameworks.title(value)}"]
    if column in ("compiler", "baseline_compiler"):
        return [compiler_title(value)]
    return [f"{value:g}" if isinstance(value, float) else str(value)]
