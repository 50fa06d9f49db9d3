"""Values as LaTeX text: escaping, numbers with units, lists of words.

Everything that reaches a page passes through here. A plain string is escaped; only a value of the type
:class:`Latex` is taken as markup. A missing number (None, NaN) raises instead of printing "nan".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from stackwars.core import numbers
from stackwars.core.numbers import significant


class Latex(str):
    """Text that already is LaTeX and must not be escaped again."""


_SPECIAL = {
    **{"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"},
    **{character: "\\" + character for character in "{}$&#%_"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"},
    "\n": " ",
}
_LIGATURES = ("--", "!`", "?`", "``", "''")
"""Pairs that TeX sets as one other character: an option would not be copied as it is."""
_WORD = re.compile(r"(?:\{(?:[^{}]|\{[^{}]*\})*\}|[^\s{}])+")
"""A word of LaTeX: text without spaces, except in braces."""
# Characters beyond ASCII in log lines and names of processors. Any other would stop pdflatex, and is
# printed as its code point, U+1F4A9.
_BEYOND_ASCII = {
    **{"\u00d7": r"\texttimes{}", "\u2013": "--", "\u2014": "---", "\u2019": "'", "\u2265": r"$\geq$"},
    **{"\u00ae": "", "\u2122": "", "\u00b5": "u"},
}


def escape(value: object) -> Latex:
    """Return a value as LaTeX text.

    :raises ValueError: for None and NaN, which have no text.
    """
    if isinstance(value, Latex):
        return value
    _require(value)
    text = str(value)
    pairs = zip(text, f"{text} "[1:], strict=True)
    return Latex(
        "".join(_escape_character(one) + ("{}" if one + after in _LIGATURES else "") for one, after in pairs)
    )


def _escape_character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character in _BEYOND_ASCII:
        return _BEYOND_ASCII[character]
    return character if 32 <= ord(character) < 127 else f"U+{ord(character):04X}"


def _require(value: object) -> None:
    if value is None or value != value:  # None or NaN; schema.is_missing needs pandas, absent in listings
        raise ValueError(
            "expected a value to print, got a missing one (None or NaN); fix: print a dash, or another sentence"
        )


def number(value: float, digits: int = 3) -> Latex:
    """Return a bare number, grouped by siunitx."""
    _require(value)
    return Latex(rf"\num{{{significant(value, digits)}}}")


def percent(share: float) -> Latex:
    """Return a share of 1 as a percentage: ``83\\,\\%``."""
    return Latex(numbers.percent(share).replace(" %", r"\,\%"))


def significant_percent(share: float) -> Latex:
    """Return a share of 1 as a percentage with two significant digits: ``0.47\\,\\%``."""
    return Latex(rf"{significant(100 * share, 2)}\,\%".replace("-", r"$-$"))


def duration(milliseconds: float) -> Latex:
    """Return a time given in ms, in ms, in s from one second and in min from five minutes on."""
    _require(milliseconds)
    if milliseconds >= 300_000:
        return _quantity(milliseconds / 60_000, r"\minute")
    if milliseconds >= 1000:
        return _quantity(milliseconds / 1000, r"\second")
    return _quantity(milliseconds, r"\milli\second")


def gibibytes(size: float) -> Latex:
    """Return a size given in bytes, in GiB (in MiB below a tenth of one)."""
    _require(size)
    if size < 0.1 * 2**30:
        return _quantity(size / 2**20, r"\mebi\byte")
    return _quantity(size / 2**30, r"\gibi\byte")


def _quantity(value: float, unit: str) -> Latex:
    return Latex(rf"\qty{{{significant(value)}}}{{{unit}}}")


def scientific(value: float) -> Latex:
    """Return a small error such as 1.2e-6 as a power of ten with two digits."""
    _require(value)
    if math.isinf(value):
        return Latex(r"$\infty$")
    return Latex(rf"\num{{{value:.1e}}}") if value else Latex(r"\num{0}")


def series(items: Iterable[object]) -> Latex:
    """Return ``a, b and c``, each of one item at least escaped; if one contains a comma, ``a, b; c; and d``.

    A comma in parentheses is none.
    """
    words = [escape(item) for item in items]
    if len(words) == 1:
        return words[0]
    if any("," in re.sub(r"\([^)]*\)", "", word) for word in words):
        return Latex("; ".join(words[:-1]) + "; and " + words[-1])
    return Latex(", ".join(words[:-1]) + " and " + words[-1])


def linked(text: str, address: str) -> Latex:
    """Return LaTeX with a link on each word: pdfTeX stops at a link that a page break divides.

    >>> linked(r"\\num{2.50} x", "a.html#b")
    '\\\\href{a.html\\\\#b}{\\\\num{2.50}} \\\\href{a.html\\\\#b}{x}'
    """
    target = re.sub("[#%&]", r"\\\g<0>", address)
    return Latex(_WORD.sub(lambda word: rf"\href{{{target}}}{{{word[0]}}}", text))
