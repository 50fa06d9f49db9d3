"""The specification of a table: its rows, its columns, its caption and its note; and what several tables show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from stackwars.study.comparisons import CELLS, Comparison, comparisons
from stackwars.study.results.dataset import Dataset, Sources

WORST = 48
"""Characters of a status that are shown."""
RAGGED = r">{\raggedright\arraybackslash}"
"""Before the column of a tabular whose text has several lines."""


class Span(NamedTuple):
    """A text in place of the values of several columns; the cells behind it are SKIPPED."""

    text: str
    width: int


SKIPPED = "%skipped%"
"""A cell that a `Span` before it covers."""


class Ratio(NamedTuple):
    """A ratio, its interval, its verdict of :mod:`stackwars.study.results.verdicts`, and further `formats.MARKS`."""

    ratio: float
    low: float = float("nan")
    high: float = float("nan")
    verdict: str = ""
    marks: tuple[str, ...] = ()


class StruckOut(NamedTuple):
    """The time of a program whose values are wrong; None if it has none."""

    ms: float | None


class Range(NamedTuple):
    """The smallest and the largest process, and marks of `formats.MARKS` behind them."""

    low: float
    high: float
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column: its head, the column of the rows that it shows, and how.

    format: a name in `formats.FORMATS`. group: a head that neighbouring columns share. align: the column of the
    tabular, by default that of the format.
    """

    head: str
    value: str
    format: str = "text"
    group: str = ""
    align: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the paper: tables/<name>.tex with the label tab:<name>.

    rows: a data frame; its attrs["note"] is LaTeX text that is added to the note.
    columns: fixed, or chosen by what the configuration compares.
    study: where the rows are from, named at the end of the note; empty if they are no results.
    group_by: a column of the rows whose repeats are blank, with a space between two values.
    note: LaTeX text below the table; line breaks do not matter.
    empty: what a table without rows says.
    wide: whether it has the width of the page.
    loose: whether there is a space between all rows.
    separation: half the space between two columns.
    max_rows: the rows of a page; the others continue on the next.
    """

    name: str
    caption: str
    rows: Callable[[Sources], pd.DataFrame]
    columns: tuple[Column, ...] | Callable[[Sources], tuple[Column, ...]]
    study: str = ""
    group_by: str = ""
    note: str = ""
    empty: str = "no result"
    wide: bool = True
    loose: bool = False
    separation: str = "3pt"
    max_rows: int = 64


def frame(rows: list[dict], note: str = "") -> pd.DataFrame:
    """Return the rows of a table; note: LaTeX text for its note.

    :raises ValueError: for a row without a key that another has, which would be printed as a missing value.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    for row in rows:
        if missing := [name for name in names if name not in row]:
            raise ValueError(
                f"row of a table: expected the keys {', '.join(names)}, got no {', '.join(missing)} in {row}; "
                "fix: give every kind of row each key, None or an empty text where it has no value"
            )
    table = pd.DataFrame(rows)
    table.attrs["note"] = note
    return table


def spanning(text: str, *columns: str) -> dict[str, object]:
    """Return the cells of a row in which a text takes the place of these neighbouring columns."""
    return {columns[0]: Span(text, len(columns)), **dict.fromkeys(columns[1:], SKIPPED)}


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
        f"Intervals are over every accepted run that has both sides, at most {most:.0f}, on the kinds of machine "
        "measured."
    )
