"""A table of the paper: its specification, the formats of its values, and how it becomes a LaTeX float.

A module of this folder lists its tables in `TABLES`, each a :class:`Table`. `render` makes the float of one.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from stackwars.core.numbers import significant
from stackwars.core.ratio import NEGLIGIBLE
from stackwars.publish.paper.latex import Latex, escape, percent, significant_percent
from stackwars.study.results import runs, verdicts
from stackwars.study.results.comparisons import EACH_KIND
from stackwars.study.results.dataset import SHORT_MS, Dataset, Sources
from stackwars.study.results.schema import is_missing
from stackwars.study.studies import CELLS, Comparison, comparisons

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
    """A ratio, its interval, its verdict of :mod:`stackwars.study.results.verdicts`, and further `MARKS`.

    kinds: the ratio on each of several kinds of machine, by their name; each has a line.
    """

    ratio: float
    low: float = float("nan")
    high: float = float("nan")
    verdict: str = ""
    marks: tuple[str, ...] = ()
    kinds: dict[str, Ratio] | None = None


class StruckOut(NamedTuple):
    """The time of a program whose values are wrong; None if it has none."""

    ms: float | None


class Range(NamedTuple):
    """The smallest and the largest process, and `MARKS` behind them."""

    low: float
    high: float
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column: its head, the column of the rows that it shows, and how.

    format: a name in `FORMATS`. group: a head that neighbouring columns share. align: the column of the
    tabular, by default the format's.
    """

    head: str
    value: str
    format: str = "text"
    group: str = ""
    align: str = ""


def columns_as(format: str, **heads: str) -> tuple[Column, ...]:
    """Return columns of one format. heads: by the columns of the rows that they show."""
    return tuple(Column(head, value, format) for value, head in heads.items())


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


def paired(table: pd.DataFrame, sides: Sequence[str], *keys: str) -> Iterator[tuple[tuple, list[dict]]]:
    """Yield, for each value of these columns, the row of each side; an empty one if a framework has none."""
    for key, rows in table.groupby(list(keys), sort=False):
        by_side = indexed(rows, "framework")
        yield key, [by_side.get((side,), {}) for side in sides]


def ratios_by(column: str, values: Iterable[str], comparisons: pd.DataFrame) -> list[dict]:
    """Return a row for each workload, with its ratio for each of these values of a column of the comparisons."""
    result = []
    for workload, rows in comparisons.groupby("title", sort=False):
        known = {row[column]: ratio(row) for row in rows.to_dict("records")}
        result.append({"workload": workload, **dict.fromkeys(values), **known})
    return result


def ratio(row: dict | None, marks: tuple[str, ...] = ()) -> Ratio | None:
    """Return the ratio of a row of `Dataset.comparisons`, on every kind of machine; None without a row."""
    if row is None:
        return None
    names = ("ratio", "low", "high", "verdict")
    kinds = {one["machine"]: Ratio(*(one[name] for name in names), marks) for one in row[EACH_KIND]}
    return Ratio(*(row[name] for name in names), marks, kinds if any(kinds) else None)


def set_marks(**flags: object) -> tuple[str, ...]:
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
        f"Intervals are over every accepted run of a kind of machine that has both sides, at most {most:.0f}."
    )


MIB, GIB = 2**20, 2**30
NO_VALUE = "---"
UNGATED, UNSETTLED, CONTENDED = "ungated", "unsettled", "contended"
APART, MISSED, SHORT = "apart", "missed", "short"
MARKS: dict[str, tuple[str, str]] = {
    verdicts.SLOWER: (r"$\blacktriangle$", "slower than the baseline"),
    verdicts.FASTER: (r"$\blacktriangledown$", "faster"),
    verdicts.EQUIVALENT: ("$=$", rf"equivalent: the whole interval is within {percent(NEGLIGIBLE)} of 1"),
    verdicts.INCONCLUSIVE: (r"$\cdot$", "inconclusive"),
    verdicts.OPPOSITE: (r"$\blacklozenge$", "slower on one kind of machine, faster on another"),
    verdicts.PASSED: (r"$\approx$", rf"the whole interval is within {percent(verdicts.CONTROL)} of 1"),
    verdicts.NATIVE_SLOWER: (r"$\succ$", "the native call takes longer than the replay"),
    verdicts.NATIVE_FASTER: (r"$\prec$", "the native call takes less time than the replay"),
    UNGATED: (r"$^{\dagger}$", "fewer than half of its blocks were uncontended"),
    UNSETTLED: (r"$^{\S}$", "the calls reach no steady state; a median"),
    CONTENDED: (
        r"$^{\ddagger}$",
        "one framework kept over 20 percentage points more of its blocks than the other",
    ),
    APART: ("$^{*}$", "of blocks that were measured one after the other, not interleaved"),
    MISSED: (r"$^{\P}$", r"a profiled call misses its timed call by more than 10\,\%"),
    SHORT: (
        r"$^{\circ}$",
        rf"of calls under {SHORT_MS:g}\,ms, between which other cores fall asleep: the ratio on one core decides",
    ),
}
"""Mark of a table: its LaTeX, and what it means. The note of a table explains those that it has."""
_VERDICTS = tuple(MARKS)[:8]
LEAST, MOST = 0.001, 100_000
"""An end of an interval beyond these is not printed: from two rounds it may be far off."""


class Cell(NamedTuple):
    """A number, aligned with those of its column, and LaTeX behind it."""

    number: str = ""
    text: str = ""
    is_bold: bool = False


def mark(name: str) -> str:
    """Return the mark of a verdict, in a box of the same width for all of them; other marks as they are."""
    latex = MARKS[name][0] if name in MARKS else ""
    is_boxed = name and (name in _VERDICTS or name not in MARKS)
    return rf"\makebox[1.1em]{{{latex}}}" if is_boxed else latex


def _end(value: float) -> str:
    if value < LEAST:
        return rf"$<${LEAST}"
    return significant(value) if value < MOST else rf"$>${MOST:,}"


def _grouped(number: str) -> str:
    """Return a number with a comma before every three of five or more whole digits."""
    integer, point, decimals = number.partition(".")
    return (f"{int(integer):,}" if len(integer.lstrip("-")) > 4 else integer) + point + decimals


def _ms(value: float | str | StruckOut) -> Cell:
    """Show a time in ms: a published one, which is a text, verbatim, a wrong program's struck out."""
    if isinstance(value, StruckOut):
        time = NO_VALUE if is_missing(value.ms) else _grouped(significant(value.ms, 4))
        return Cell(text=rf"\struck{{{time}}}")
    return Cell(_grouped(value if isinstance(value, str) else significant(value, 4)))


def _range(value: Range) -> Cell:
    marks = "".join(map(mark, value.marks))
    if is_missing(value.low) or value.low == value.high:
        return Cell(text=NO_VALUE + marks)
    return Cell(text=f"{significant(value.low)}--{significant(value.high)}{marks}")


def _ratio(value: Ratio) -> Cell:
    if is_missing(value.ratio):
        return Cell(text=NO_VALUE)
    ends = "" if is_missing(value.low) else f"[{_end(value.low)}, {_end(value.high)}]"
    return Cell(significant(value.ratio), "".join([mark(value.verdict), ends, *map(mark, value.marks)]))


def _bytes(value: tuple[float, bool]) -> Cell:
    """Show bytes in GiB, bold if they do not fit."""
    size, fits = value
    return Cell(significant(size / GIB, 4), is_bold=not fits)


FORMATS: dict[str, tuple[str, Callable]] = {
    "text": ("l", lambda value: Cell(text=escape(value))),
    "ms": ("r", _ms),
    "range": ("l", _range),
    "ratio": ("l", _ratio),
    "number": ("r", lambda value: Cell(_grouped(significant(value)))),
    "count": ("r", lambda value: Cell(_grouped(f"{value:.0f}"))),
    "percent": ("r", lambda value: Cell(text=significant_percent(value))),
    "bytes": ("r", _bytes),
}
"""Format of a column: its column of the tabular, and the function that shows a value."""


def shown(name: str, value: object) -> Cell:
    """Return a value in a format; a dash if it is missing."""
    if isinstance(value, Span):
        return Cell(text=rf"\multicolumn{{{value.width}}}{{c}}{{{escape(value.text)}}}")
    if is_missing(value):
        return Cell(text=NO_VALUE)
    if isinstance(value, str) and value in ("", SKIPPED):
        return Cell(text=value)
    return FORMATS[name][1](value)


def render(table: Table, sources: Sources) -> str:
    """Return the float of a table; more rows than a page has continue in further floats of the same number."""
    rows = table.rows(sources)
    columns = table.columns if isinstance(table.columns, tuple) else table.columns(sources)
    known = Counter(run["machine"] for run in sources.reference.context.get("runs", []))
    rows = by_kind(rows, [column.value for column in columns], table.group_by, known)
    if missing := [column.value for column in columns if len(rows) and column.value not in rows]:
        raise ValueError(
            f"table {table.name}: expected rows with {', '.join(missing)}, which its columns show, got "
            f"{', '.join(rows.columns)}; fix: the function rows of the table"
        )
    body = _body(table, columns, rows)
    groups = list(rows[table.group_by]) if table.group_by and len(rows) else [""] * len(body)
    pages = list(_pages(groups, table.max_rows)) or [range(0)]
    origin = escape(sources.origin(table.study)) if table.study else ""
    text = " ".join(map(" ".join, body))
    marks = "; ".join(f"{latex}: {meaning}" for latex, meaning in MARKS.values() if latex in text)
    struck = "Struck out: the time of a wrong result." if r"\struck{" in text else ""
    parts = (table.note, rows.attrs.get("note", ""), struck, f"{marks}." if marks else "", origin)
    note = " ".join(" ".join(parts).split())
    floats = []
    for number, page in enumerate(pages):
        lines = [body[place] for place in page]
        gaps = [place - page.start for place in page[1:] if table.loose or groups[place] != groups[place - 1]]
        tabular = _tabular(columns, lines, gaps, table.empty)
        floats.append(_float(table, tabular, note if number == len(pages) - 1 else "", number))
    return "\n".join(floats)


def by_kind(
    rows: pd.DataFrame, columns: Sequence[str], group_by: str = "", known: Mapping[str, int] | None = None
) -> pd.DataFrame:
    """Return the rows with a line for each kind of machine that a row has ratios of, and a note that names the kinds.

    The first column that does not group names a row and, with a letter, its kind. known: how many runs each kind has
    in the reference. A kind has the same letter in all tables. If there are more than two, those with one run have no
    line: a page has no room for all.
    """
    known = known or {}
    name = next(column for column in columns if column != group_by)
    kinds = {kind for value in rows.to_numpy().flat if isinstance(value, Ratio) for kind in value.kinds or ()}
    left_out = {kind for kind in kinds if known.get(kind) == 1} if len(kinds) > 2 else set()
    names = runs.short_names(kinds)
    order = zip(runs.by_speed({*known, *kinds}), string.ascii_uppercase, strict=False)
    letters = {kind: letter for kind, letter in order if kind in kinds - left_out}
    if len(letters) < 2:
        return rows
    lines = []
    for row in rows.to_dict("records"):
        row_kinds = {
            kind for value in row.values() if isinstance(value, Ratio) for kind in value.kinds or ()
        } - left_out
        for place, kind in enumerate(sorted(row_kinds, key=letters.__getitem__) or [""]):
            line = {column: _on(kind, value, place) for column, value in row.items()}
            named = Latex(f"{escape(row[name])} {letters[kind]}") if kind else row[name]
            lines.append(line | {name: named} | ({group_by: row[group_by]} if group_by else {}))
    result = pd.DataFrame(lines, columns=rows.columns)
    legend = "; ".join(f"{letter}: {escape(names[kind])}" for kind, letter in letters.items())
    if left_out:
        one_run = "; ".join(escape(names[kind]) for kind in runs.by_speed(left_out))
        legend += f"; not shown, with one run (comparisons.csv, report): {one_run}"
    result.attrs["note"] = f"{rows.attrs.get('note', '')} Kinds of machine: {legend}."
    return result


def _on(kind: str, value: object, place: int) -> object:
    """Return a value of a row on the line of a kind of machine; a value of no kind stands on the first line."""
    if isinstance(value, Ratio) and value.kinds:
        return value.kinds.get(kind, "")
    return value if place == 0 else ""


def _pages(groups: Sequence[object], most: int) -> Iterator[range]:
    """Yield the rows of each page; a group is divided only if it is longer than a page."""
    start = end = 0
    for _, members in groupby(groups):
        size = len(list(members))
        if end > start and end + size - start > most:
            yield range(start, end)
            start = end
        end += size
        while end - start > most:
            yield range(start, start + most)
            start += most
    if end > start:
        yield range(start, end)


def _body(table: Table, columns: Sequence[Column], rows: pd.DataFrame) -> list[list[str]]:
    if rows.empty:
        return []
    texts = []
    for column in columns:
        values = list(rows[column.value])
        if column.value == table.group_by:
            pairs = zip(values, [None, *values], strict=False)
            values = ["" if value == before else value for value, before in pairs]
        texts.append(_aligned([shown(column.format, value) for value in values]))
    return [list(row) for row in zip(*texts, strict=True)]


def _aligned(cells: Sequence[Cell]) -> list[str]:
    """Return the cells with their numbers aligned at the decimal point."""
    parts = [cell.number.partition(".") for cell in cells if cell.number]
    left = max((integer for integer, _, _ in parts), key=len, default="")
    right = max((point + decimals for _, point, decimals in parts), key=len, default="")
    texts = [(_padded(cell.number, left, right) if cell.number else "") + cell.text for cell in cells]
    return [rf"\textbf{{{text}}}" if cell.is_bold else text for cell, text in zip(cells, texts, strict=True)]


def _padded(number: str, left: str, right: str) -> str:
    """Return a number in a box as wide as `left` before its decimal point and `right` from it on."""
    integer, point, decimals = number.partition(".")
    head = integer if len(integer) == len(left) else rf"\hphantom{{{left}}}\llap{{{integer}}}"
    tail = point + decimals
    result = head + (tail if len(tail) == len(right) else rf"\rlap{{{tail}}}\hphantom{{{right}}}")
    return result.replace("-", r"\textminus{}")


def _tabular(columns: Sequence[Column], lines: list[list[str]], gaps: list[int], empty: str) -> str:
    """Return the tabular of these rows; gaps: the rows before which there is a space."""
    rows = list(map(_row, lines)) or [rf"\multicolumn{{{len(columns)}}}{{c}}{{{escape(empty)}}} \\"]
    for place in reversed(gaps):
        rows.insert(place, r"\addlinespace[2pt]")
    heads = [_row([escape(column.head) for column in columns])]
    shared, rules, end = [], "", 0
    for name, members in groupby(column.group for column in columns):
        width = len(list(members))
        end += width
        shared.append(escape(name) if width == 1 else rf"\multicolumn{{{width}}}{{c}}{{{escape(name)}}}")
        rules += rf"\cmidrule(lr){{{end - width + 1}-{end}}}" if name else ""
    if rules:
        heads = [_row(shared), rules, *heads]
    preamble = "".join(column.align or FORMATS[column.format][0] for column in columns)
    begin = rf"\begin{{tabular}}{{@{{}}{preamble}@{{}}}}"
    return "\n".join([begin, r"\toprule", *heads, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"])


def _row(cells: list[str]) -> str:
    return " & ".join(cell for cell in cells if cell != SKIPPED) + r" \\"


def _float(table: Table, tabular: str, note: str, number: int) -> str:
    """Return a float with the tabular; number: 0 for the first of a table, which has the label."""
    environment = "table*" if table.wide else "table"
    # A later float keeps the number of the first; hyperref needs another name for it.
    again = rf"\addtocounter{{table}}{{-1}}\def\theHtable{{\thetable.{number}}}%"
    below = rf"\par\vspace{{2pt}}\parbox{{\linewidth}}{{\scriptsize {note}}}"
    return "\n".join(
        [
            rf"\begin{{{environment}}}[tbp]",
            r"\centering",
            *([again] if number else []),
            rf"\caption{{{escape(table.caption)}{' (continued)' if number else ''}}}",
            *([] if number else [rf"\label{{tab:{table.name}}}"]),
            rf"\scriptsize\setlength{{\tabcolsep}}{{{table.separation}}}%",
            # A long status or an unusual number may make a row wider than the column: only then the whole
            # tabular is set smaller.
            r"\setbox0=\hbox{%",
            tabular + "}%",
            r"\leavevmode\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\box0}\else\box0\fi",
            *([below] if note else []),
            rf"\end{{{environment}}}",
            "",
        ]
    )
