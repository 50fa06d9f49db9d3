"""Verdicts of claims: from what each finding says to what all of them say. Pure functions.

A finding votes for a claim, against it or leaves it open; one without data leaves it open as well.
"""

from __future__ import annotations

from stackwars.results.verdicts import NOT_DECIDED

SUPPORTED = "supported"
CONTRADICTED = "contradicted"
NOT_TESTABLE = "not testable here"
CLAIM_VERDICTS = (SUPPORTED, CONTRADICTED, NOT_DECIDED, NOT_TESTABLE)

PUBLISHED = "published"
TRANSFERRED = "transferred"
OURS = "ours"
ORIGINS = {
    PUBLISHED: "Claims of the Original, as Stated",
    TRANSFERRED: "Claims of the Original, Transferred to the CPU",
    OURS: "Our Claims",
}
"""Whose claim it is and what it is asked of, with the title of its table."""


def quantified(quantifier: str, holds: int, fails: int, open_: int) -> str:
    """The verdict from the number of votes for, against and open.

    quantifier: ``every``, ``most`` (more than half of all votes), ``any`` or ``none``. A claim is
    supported or contradicted only where the open votes cannot change that any more.

    :raises ValueError: for another quantifier.
    """
    total = holds + fails + open_
    if not total:
        return NOT_TESTABLE
    match quantifier:
        case "every":
            supported, contradicted = holds == total, fails > 0
        case "most":
            supported, contradicted = 2 * holds > total, 2 * fails >= total
        case "any":
            supported, contradicted = holds > 0, fails == total
        case "none":
            supported, contradicted = fails == total, holds > 0
        case _:
            raise ValueError(f"expected every, most, any or none; came {quantifier!r}")
    if supported:
        return SUPPORTED
    return CONTRADICTED if contradicted else NOT_DECIDED
