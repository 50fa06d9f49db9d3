"""Shared by several tables: ratios of comparisons.csv, the main comparison, a status in words."""

from __future__ import annotations

import pandas as pd

from stackwars.paper.tables.spec import Ratio
from stackwars.results.dataset import Dataset, Sources
from stackwars.study.comparisons import CELLS, Comparison, comparisons

WORST = 48
"""Characters of a status that are shown."""


def main(sources: Sources) -> Comparison:
    """Return the comparison that the paper is about."""
    return comparisons(sources.run.config, CELLS)[0]


def indexed(table: pd.DataFrame, *keys: str) -> dict[tuple, dict]:
    """Return the rows of a table by the values of these columns."""
    return {tuple(row[key] for key in keys): row for row in table.to_dict("records")}


def ratio(row: dict | None, marks: tuple[str, ...] = ()) -> Ratio | None:
    """Return the ratio of a row of comparisons.csv; None without a row."""
    return None if row is None else Ratio(row["ratio"], row["low"], row["high"], row["verdict"], marks)


def set_marks(**flags: object) -> tuple[str, ...]:
    """Return the marks whose flag is set."""
    return tuple(name for name, is_set in flags.items() if is_set)


def short_status(row: dict) -> str:
    """Return ``oom, refused at build``: the status and the first words of its detail."""
    detail = row["status_detail"].partition("\n")[0].partition(":")[0].strip()
    if len(detail) > WORST:
        detail = detail[: WORST - 2].rsplit(" ", 1)[0] + " ..."
    return f"{row['status']}, {detail}" if detail else row["status"] or "no status"


def pooled_over(data: Dataset, rows: pd.DataFrame) -> str:
    """Return what the intervals of these comparisons are over."""
    most = rows["runs"].max()
    if not data.is_reference or not most > 1:
        return "Intervals are over the rounds of one run."
    return (
        f"Intervals are over every accepted run that has both sides, at most {most:.0f}, with the variance between "
        "runs and kinds of machine."
    )
