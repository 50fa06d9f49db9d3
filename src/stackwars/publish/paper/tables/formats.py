"""How a value of a table is printed: one function a format, and the marks of verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stackwars.core.numbers import significant
from stackwars.core.ratio import NEGLIGIBLE
from stackwars.publish.paper.latex import escape, percent, significant_percent
from stackwars.publish.paper.tables.spec import Range, Ratio, StruckOut
from stackwars.study.results import verdicts
from stackwars.study.results.schema import is_missing

GIB = 2**30
NO_VALUE = "---"
UNGATED, UNSETTLED, CONTENDED, APART = "ungated", "unsettled", "contended", "apart"
MISSED = "missed"
MARKS: dict[str, tuple[str, str]] = {
    verdicts.SLOWER: (r"$\blacktriangle$", "slower than the baseline"),
    verdicts.FASTER: (r"$\blacktriangledown$", "faster"),
    verdicts.EQUIVALENT: (
        "$=$",
        rf"equivalent: the whole interval is within {percent(NEGLIGIBLE)} of 1",
    ),
    verdicts.INCONCLUSIVE: (r"$\cdot$", "inconclusive"),
    verdicts.PASSED: (
        r"$\approx$",
        rf"the whole interval is within {percent(verdicts.CONTROL)} of 1",
    ),
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
}
"""Mark of a table: its LaTeX, and what it means. `marks_note` explains those that a table has."""
_VERDICTS = tuple(MARKS)[:7]
LEAST, MOST = 0.001, 100_000
"""An end of an interval beyond these is not printed: from two rounds it may be far off."""


class Cell(NamedTuple):
    """A number, aligned with those of its column, and LaTeX behind it."""

    number: str = ""
    text: str = ""
    is_bold: bool = False


def marks_note(body: str) -> str:
    """Return what the marks in the body of a table mean."""
    meanings = [f"{latex}: {meaning}" for latex, meaning in MARKS.values() if latex in body]
    return "; ".join(meanings) + "." if meanings else ""


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
    """Show a time in ms; one that is a text, a published one, verbatim; that of a wrong program struck out."""
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
    if is_missing(value):
        return Cell(text=NO_VALUE)
    if value == "":
        return Cell()
    return FORMATS[name][1](value)
