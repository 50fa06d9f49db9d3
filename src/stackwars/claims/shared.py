"""One claim in two runs, decided in each by the findings that both have data for.

A run that tested a claim on less than another one reproduces or contradicts what it tested, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable

from stackwars.claims.definitions import Claim
from stackwars.claims.judge import ballots
from stackwars.claims.predicates import AGAINST, FOR, OPEN, Vote
from stackwars.claims.verdicts import quantified
from stackwars.results.verdicts import Finding

Votes = dict[tuple[str, str], list[Vote]]


def on_shared(
    claim: Claim, here: Iterable[Finding], there: Iterable[Finding]
) -> tuple[str, str] | None:
    """The verdicts of both on what both have; None where that is nothing."""
    votes = [_votes(claim, findings) for findings in (here, there)]
    shared = votes[0].keys() & votes[1].keys()
    if not shared:
        return None
    own, other = (_verdict(claim, [one for key in shared for one in v[key]]) for v in votes)
    return own, other


def _votes(claim: Claim, findings: Iterable[Finding]) -> Votes:
    """By finding and, of one that counts others, by whom it counts."""
    counts = "counts" in claim.predicate
    found: Votes = {}
    for finding, cast in ballots(claim, findings):
        for vote in cast:
            found.setdefault((finding["id"], vote.title if counts else ""), []).append(vote)
    return found


def _verdict(claim: Claim, votes: list[Vote]) -> str:
    counts = [sum(vote.vote == side for vote in votes) for side in (FOR, AGAINST, OPEN)]
    return quantified(claim.predicate["quantifier"], *counts)
