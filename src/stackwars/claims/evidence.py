"""What a claim's verdict rests on, as one short sentence: how many findings say what, and which."""

from __future__ import annotations

from stackwars.claims.predicates import AGAINST, FOR, OPEN, Vote

MANY = 7
"""Of more findings than this that say the same, only the minimum and the maximum are given."""
NO_DATA_FOR = "no data for "
_ORDER = (FOR, AGAINST, OPEN)


def evidence(votes: list[Vote], silent: list[str]) -> str:
    """``slower in 2 of 3: FFN 1.31 (1.27 to 1.35), MHA 1.44 (1.4 to 1.48); faster in 1: ...``.

    silent: titles of those without data. :func:`tally` takes the counts out again.
    """
    said: dict[str, list[Vote]] = {}
    for vote in sorted(votes, key=lambda vote: _ORDER.index(vote.vote)):
        said.setdefault(vote.word, []).append(vote)
    parts = []
    for word, same in said.items():
        count = f" in {len(same)}" if len(votes) > 1 else ""
        of = "" if parts or not count else f" of {len(votes)}"
        details = _details(same)
        parts.append(f"{word}{count}{of}{': ' if details else ''}{details}")
    if any(silent):
        parts.append(NO_DATA_FOR + ", ".join(filter(None, silent)))
    return "; ".join(parts)


def tally(text: str) -> str:
    """The counts alone of an :func:`evidence`: ``slower in 2 of 3, faster in 1``."""
    parts = (part.partition(": ")[0] for part in text.split("; "))
    return ", ".join(part for part in parts if not part.startswith(NO_DATA_FOR))


def _details(votes: list[Vote]) -> str:
    if len(votes) <= MANY:
        return ", ".join(filter(None, (f"{vote.title} {vote.number}".strip() for vote in votes)))
    known = sorted((vote for vote in votes if vote.value is not None), key=lambda vote: vote.value)
    if not known:
        return ""
    low, high = known[0], known[-1]
    if low.number == high.number:
        return f"all {low.number}"
    return f"from {low.number} ({low.title}) to {high.number} ({high.title})"
