"""Verdicts of claims: from the votes of single rows to the verdict on all of them. Pure functions.

A row votes for a claim, against it or leaves it open; a row without data leaves it open as well.
"""

from __future__ import annotations

from typing import NamedTuple

from stackwars.results.verdicts import NOT_DECIDED

SUPPORTED = "supported"
CONTRADICTED = "contradicted"
NOT_TESTABLE = "not testable here"
CLAIM_VERDICTS = (SUPPORTED, CONTRADICTED, NOT_DECIDED, NOT_TESTABLE)

PUBLISHED = "published"
TRANSFERRED = "transferred"
OURS = "ours"
"""Whose claim it is, and what it is asked of."""


class Tally(NamedTuple):
    """The number of votes for a claim, against it, and open."""

    supports: int
    contradicts: int
    open: int


def quantified(quantifier: str, votes: Tally) -> str:
    """Return the verdict of a claim with this quantifier.

    quantifier: ``every``, ``most`` (more than half of all votes), ``any`` or ``none``. A claim is
    supported or contradicted only if the open votes cannot change that any more.

    :raises ValueError: for another quantifier.
    """
    total = sum(votes)
    if not total:
        return NOT_TESTABLE
    supports, contradicts, _ = votes
    match quantifier:
        case "every":
            is_supported, is_contradicted = supports == total, contradicts > 0
        case "most":
            is_supported, is_contradicted = 2 * supports > total, 2 * contradicts >= total
        case "any":
            is_supported, is_contradicted = supports > 0, contradicts == total
        case "none":
            is_supported, is_contradicted = contradicts == total, supports > 0
        case _:
            raise ValueError(f"quantifier: expected every, most, any or none, got {quantifier!r}")
    if is_supported:
        return SUPPORTED
    return CONTRADICTED if is_contradicted else NOT_DECIDED


def margin(quantifier: str, votes: Tally) -> str:
    """Return the count that decides, ``9 of 15, needs 8``."""
    total = sum(votes)
    needed = {"every": total, "most": total // 2 + 1, "any": 1, "none": 0}[quantifier]
    return f"{votes.supports} of {total}, needs {needed}"
