"""The evidence of a claim in one short sentence: how many rows say what, and which."""

from __future__ import annotations

from collections.abc import Sequence

from stackwars.claims.votes import AGAINST, FOR, OPEN, Vote

MANY = 7
"""If more rows than this say the same, only the minimum and the maximum are given."""
NO_DATA_FOR = "no data for "
_ORDER = (FOR, AGAINST, OPEN)


def evidence(votes: Sequence[Vote]) -> str:
    """Return ``slower in 2 of 3: FFN 1.31 (1.27 to 1.35), MHA 1.44 (1.4 to 1.48); faster in 1: ...``.

    :func:`counts` takes the counts out again.
    """
    cast = sorted((vote for vote in votes if not vote.is_silent), key=lambda vote: _ORDER.index(vote.vote))
    said: dict[str, list[Vote]] = {}
    for vote in cast:
        said.setdefault(vote.word, []).append(vote)
    parts = []
    for word, same in said.items():
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
