"""Verdicts of claims: from the votes of single rows to the verdict on all of them, and its evidence.

A row votes for a claim, against it or leaves it open; a row without data leaves it open as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stackwars.study.results.verdicts import NO_DATA, NOT_DECIDED

SUPPORTED = "supported"
CONTRADICTED = "contradicted"
NOT_TESTABLE = "not testable here"
CLAIM_VERDICTS = (SUPPORTED, CONTRADICTED, NOT_DECIDED, NOT_TESTABLE)

PUBLISHED = "published"
TRANSFERRED = "transferred"
OURS = "ours"
"""Origins of a claim: whose it is, and what it is about."""
FOR, AGAINST, OPEN = "for", "against", "open"
MANY = 7
"""If more rows than this say the same, only the minimum and the maximum are shown."""
NO_DATA_FOR = "no data for "
_ORDER = (FOR, AGAINST, OPEN)


@dataclass(frozen=True)
class Vote:
    """The vote of one row: for, against or open; the word for it; and the number behind it.

    row: the columns that identify it, without the empty ones. A row without data has the word NO_DATA.
    """

    vote: str
    word: str
    title: str = ""
    number: str = ""  # as it is shown
    value: float | None = None
    row: dict[str, Any] | None = None

    @property
    def is_silent(self) -> bool:
        return self.word == NO_DATA


class Tally(NamedTuple):
    """The number of votes for a claim, against it, and open."""

    supports: int
    contradicts: int
    open: int


def tally(votes: Iterable[Vote]) -> Tally:
    sides = [vote.vote for vote in votes]
    return Tally(*(sides.count(side) for side in (FOR, AGAINST, OPEN)))


def quantified(quantifier: str, votes: Tally, spare: int = 1) -> str:
    """Return the verdict of a claim with this quantifier: ``every``, or ``most``, which is more than half of all votes.

    A claim is supported or contradicted only if the open votes cannot change that any more. spare: so many votes
    on the winning side of ``most`` may turn to the other side without another verdict; unanimous votes need none.
    """
    total = sum(votes)
    if not total:
        return NOT_TESTABLE
    supports, contradicts, _ = votes
    if quantifier == "every":
        is_supported, is_contradicted = supports == total, contradicts > 0
    else:
        is_supported = supports == total or 2 * (supports - spare) > total
        is_contradicted = contradicts == total or 2 * (contradicts - spare) >= total
    if is_supported:
        return SUPPORTED
    return CONTRADICTED if is_contradicted else NOT_DECIDED


def margin(quantifier: str, votes: Tally) -> str:
    """Return the count that decides, ``9 of 15 for, 4 against (9 needed)``: all, or a majority and one more."""
    total = sum(votes)
    against = f", {votes.contradicts} against" if votes.contradicts else ""
    needed = total if quantifier == "every" else min(total, total // 2 + 2)
    return f"{votes.supports} of {total} for{against} ({needed} needed)"


def evidence(votes: Sequence[Vote]) -> str:
    """Return ``slower in 2 of 3: FFN 1.31 (1.27 to 1.35), MHA 1.44 (1.4 to 1.48); faster in 1: ...``.

    :func:`counts` takes the counts out again.
    """
    cast = sorted((vote for vote in votes if not vote.is_silent), key=lambda vote: _ORDER.index(vote.vote))
    by_word: dict[str, list[Vote]] = {}
    for vote in cast:
        by_word.setdefault(vote.word, []).append(vote)
    parts = []
    for word, same in by_word.items():
        count = f" in {len(same)}" if len(cast) > 1 else ""
        of = f" of {len(cast)}" if count and not parts else ""
        details = _details(same)
        parts.append(f"{word}{count}{of}{': ' if details else ''}{details}")
    silent = [vote.title for vote in votes if vote.is_silent]
    return "; ".join([*parts, *([NO_DATA_FOR + ", ".join(silent)] if silent else [])])


def counts(text: str) -> str:
    """Return the counts alone of an :func:`evidence`: ``slower in 2 of 3, faster in 1``."""
    parts = (part.partition(": ")[0] for part in text.split("; "))
    return ", ".join(part for part in parts if not part.startswith(NO_DATA_FOR))


def _details(votes: list[Vote]) -> str:
    if len(votes) <= MANY:
        return ", ".join(f"{vote.title} {vote.number}".strip() for vote in votes)
    known = sorted((vote for vote in votes if vote.value is not None), key=lambda vote: vote.value)
    if not known:
        return ""
    low, high = known[0], known[-1]
    if low.number == high.number:
        return f"all {low.number}"
    return f"from {low.number} ({low.title}) to {high.number} ({high.title})"
