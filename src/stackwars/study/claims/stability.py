"""How often two accepted runs decide a claim differently, on the rows that both have.

Only a claim that can vary counts: one whose numbers differ between two runs. What is counted of programs is the same
in every run and would flatter.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from stackwars.study.claims.definitions import Claim, study_of
from stackwars.study.claims.leave_out import Without, judge, votes_without
from stackwars.study.claims.verdicts import CONTRADICTED, SUPPORTED, Vote
from stackwars.study.claims.votes import votes_for
from stackwars.study.results import schema
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.runs import Run


class Ballot(NamedTuple):
    """The votes of one run on a claim by their rows, without those that have no data; and those without a level."""

    votes: dict[str, Vote]
    without: Without


class Stability(NamedTuple):
    """The claims whose numbers differ between two runs: how many there are, how many get another verdict from some
    two runs, and how many one run supports and another contradicts. pairs: of runs, over these claims; pairs_differ:
    pairs with two verdicts.
    """

    varying: int
    differ: int
    opposite: int
    pairs: int
    pairs_differ: int


def between_runs(config: dict, claims: Iterable[Claim], accepted: list[Run]) -> Stability:
    """Return how stable the verdicts of these claims are between accepted runs of the claims' studies."""
    data = [(Dataset(config, run.folder), run.context["studies"]) for run in accepted]
    found: list[list[set[str]]] = []
    for claim in claims:
        own = [one for one, studies in data if study_of(config, claim) in studies]
        if len(own) < 2 or _is_counted(claim):
            continue
        ballots = [ballot(claim, one) for one in own]
        pairs = [verdicts for two in combinations(ballots, 2) if (verdicts := _varying(claim, *two))]
        if pairs:
            found.append(pairs)
    every = [verdicts for pairs in found for verdicts in pairs]
    return Stability(
        len(found),
        sum(any(len(verdicts) > 1 for verdicts in pairs) for pairs in found),
        sum({SUPPORTED, CONTRADICTED} in pairs for pairs in found),
        len(every),
        sum(len(verdicts) > 1 for verdicts in every),
    )


def ballot(claim: Claim, data: Dataset) -> Ballot:
    """Return the votes of a run on a claim."""
    votes = {str(vote.row): vote for vote in votes_for(claim, data) if not vote.is_silent}
    return Ballot(votes, votes_without(claim, data))


def on_shared(claim: Claim, one: Ballot, other: Ballot) -> tuple[str, str] | None:
    """Return the verdicts of two runs on the rows that have data in both; None if there are none.

    A run that tested a claim on less than another one reproduces or contradicts what it tested, and no more.
    """
    shared = [row for row in one.votes if row in other.votes]
    if not shared:
        return None
    first, second = (
        judge(claim, [side.votes[row] for row in shared], side.without)[0] for side in (one, other)
    )
    return first, second


def _is_counted(claim: Claim) -> bool:
    """Return whether a claim is about what is counted of programs, which is the same in every run."""
    return claim.query["table"] == "programs" or claim.query["where"].get("quantity") in schema.EXACT


def _varying(claim: Claim, one: Ballot, other: Ballot) -> set[str]:
    """Return the verdicts of two runs; nothing if their numbers are the same, or are of no common row."""
    shared = one.votes.keys() & other.votes.keys()
    if all(_content(one.votes[row]) == _content(other.votes[row]) for row in shared):
        return set()
    return set(on_shared(claim, one, other) or ())


def _content(vote: Vote) -> tuple:
    return vote.word, vote.number
