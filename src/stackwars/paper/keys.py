"""Keys of comparisons: how the prose names a row of comparisons.csv, and its verdict."""

from __future__ import annotations

import pandas as pd

from stackwars.results.dataset import Dataset
from stackwars.setup.device import CPU

SUBJECT, BASELINE = "torch_xla", "jax"
"""The comparison that the prose is about, whatever else a configuration compares first."""
_OPTIONAL = ("compiler", "device", "baseline_compiler", "variant", "baseline", "baseline_workload")


def comparison_key(row: dict) -> str:
    """Return `quantity/workload/subject` and whatever of the row is not the usual.

    The usual baseline is BASELINE and the usual device the CPU; an edited program is compared with the unedited one,
    and a form with the other form of the same framework.

    >>> comparison_key({"quantity": "edit", "workload": "mha", "subject": "jax+a", "baseline": "jax"})
    'edit/mha/jax+a'
    """
    usual = {"device": (CPU,), "baseline": (BASELINE, row["subject"], row["subject"].partition("+")[0])}
    parts = [row.get(name, "") for name in _OPTIONAL]
    shown = [
        part for name, part in zip(_OPTIONAL, parts, strict=True) if part and part not in usual.get(name, ())
    ]
    return "/".join([row["quantity"], row["workload"], row["subject"], *shown])


def keyed(table: pd.DataFrame) -> pd.Series:
    """Return the key of each of some rows of comparisons.csv."""
    return pd.Series(map(comparison_key, table.to_dict("records")), index=table.index, dtype=str)


def verdicts(data: Dataset) -> dict[str, str]:
    """Return the verdict of every claim by its id, and of every comparison by its key."""
    table, claims = data.table("comparisons"), data.table("claims")
    compared = dict(zip(keyed(table), table["verdict"], strict=True))
    return compared | dict(zip(claims["id"], claims["verdict"], strict=True))
