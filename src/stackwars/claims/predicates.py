"""Predicates of claims over findings: who votes, and for what. The form is closed; nothing is evaluated.

A predicate (workflow/schemas/claims.schema.yaml) selects findings by patterns of their ids and by the
values of their fields. Each one votes by a word (``holds``, ``fails``), by a number against a limit
(``at_most`` or ``at_least``), or, being a summary, with the counts that it holds itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from stackwars.results.read_compilers import compiler_title
from stackwars.results.values import is_missing
from stackwars.results.verdicts import FASTER, NO_DATA, SLOWER, Finding

FOR, AGAINST, OPEN = "for", "against", "open"
WITHIN = "within the tolerance"


@dataclass(frozen=True)
class Vote:
    """What one finding says: for, against or open; the word for it; and the number behind it."""

    vote: str
    word: str
    title: str = ""
    number: str = ""  # as it is shown
    value: float | None = None


def selected(predicate: dict, findings: Iterable[Finding]) -> list[Finding]:
    """The findings that a predicate is about, in their order."""
    wanted = predicate.get("where", {})
    return [
        finding
        for finding in findings
        if matches(finding["id"], predicate["findings"])
        and all(_is(finding.get(key), value) for key, value in wanted.items())
    ]


def matches(identity: str, patterns: list[str]) -> bool:
    """Whether an id is one of these; ``*`` stands for what is between two slashes.

    >>> matches("steady/mha/torch_xla", ["steady/*/torch_xla"]), matches("a/b/c", ["a/*"])
    (True, False)
    """
    return _expression(tuple(patterns)).fullmatch(identity) is not None


@cache
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(one).replace(r"\*", "[^/]*") for one in patterns))


def _is(value: object, wanted: object) -> bool:
    return value in wanted if isinstance(wanted, list) else value == wanted


def votes(predicate: dict, tolerance: float, finding: Finding) -> list[Vote]:
    """The votes of one finding: none without data, one, or as many as a summary counted.

    tolerance: a direction of a ratio within 1 +- this, or a number without an interval within this
    share of its limit, is open.
    """
    if "counts" in predicate:
        return _by_counts(predicate["counts"], finding)
    vote = (_by_number if "number" in predicate else _by_word)(predicate, tolerance, finding)
    return [] if vote is None else [vote]


def _by_word(predicate: dict, tolerance: float, finding: Finding) -> Vote | None:
    word = finding.get(predicate.get("field", "verdict"))
    if word is None or word == NO_DATA:
        return None
    vote = FOR if word in predicate["holds"] else AGAINST if word in predicate["fails"] else OPEN
    ratio = finding.get("ratio")
    if word in (SLOWER, FASTER) and not is_missing(ratio) and abs(ratio - 1) <= tolerance:
        vote, word = OPEN, WITHIN
    said = predicate.get("says", {}).get(word, word)
    return Vote(vote, said, title(finding), *_number(finding, predicate.get("shows", "ratio")))


def _by_number(predicate: dict, tolerance: float, finding: Finding) -> Vote | None:
    """A ratio with an interval votes by its interval, any other number by its tolerance."""
    name = predicate["number"]
    value = finding.get(name)
    if is_missing(value):
        return None
    low, high, undecided = value * (1 - tolerance), value * (1 + tolerance), WITHIN
    if name == "ratio" and not is_missing(finding.get("low")):
        low, high, undecided = finding["low"], finding["high"], OPEN
    if "at_most" in predicate:
        limit, words = predicate["at_most"], ("at most", "over")
        is_for, is_against = high <= limit, low > limit
    else:
        limit, words = predicate["at_least"], ("at least", "under")
        is_for, is_against = low >= limit, high < limit
    vote, word = (FOR, words[0]) if is_for else (AGAINST, words[1]) if is_against else (OPEN, "")
    word = f"{word} {limit:g}".replace("e-0", "e-") if word else undecided
    return Vote(vote, word, title(finding), *_number(finding, name))


def _by_counts(fields: dict[str, list[str]], finding: Finding) -> list[Vote]:
    """Each field is a number, or a list of titles."""
    words = {
        "holds": (FOR, "as claimed"),
        "fails": (AGAINST, "not as claimed"),
        "open": (OPEN, "open"),
    }
    found = []
    for name, vote in words.items():
        for value in (finding.get(key) for key in fields.get(name, [])):
            titles = value if isinstance(value, list) else [""] * int(value or 0)
            found += [Vote(*vote, one) for one in titles]
    return found


def title(finding: Finding) -> str:
    """Who a finding is of, with the compiler where there is one finding for each of them."""
    name, compiler = finding.get("title") or "", finding.get("compiler")
    named = name and compiler in finding["id"].split("/")
    return f"{name} ({compiler_title(compiler)})" if named else name


def _number(finding: Finding, name: str) -> tuple[str, float | None]:
    """``1.31 (1.27 to 1.35)`` for a ratio, a share as a percentage; nothing where there is none."""
    value, low, high = finding.get(name), finding.get("low"), finding.get("high")
    if is_missing(value):
        return "", None
    if name == "share":
        return f"{100 * value:.0f} %", value
    if name != "ratio" or is_missing(low) or is_missing(high):
        return digits(value), value
    return f"{digits(value)} ({digits(low)} to {digits(high)})", value


def digits(value: float) -> str:
    """Three digits; a power of ten where plain decimals would be unreadable."""
    if math.isinf(value):
        return "infinite"
    size = abs(value)
    if not size:
        return "0"
    if not 1e-3 <= size < 1e5:
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.0f}" if size >= 100 else f"{value:#.3g}"
