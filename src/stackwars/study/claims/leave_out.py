"""Decide claims again without each compiler, and without each frontend.

A claim about "the compiler" that a single compiler carries is a claim about that compiler. The query of such a claim
names the factors in `leave_out`; effects.csv has its votes without each of their levels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stackwars.study.claims.definitions import Claim, study_of
from stackwars.study.claims.verdicts import CONTRADICTED, SUPPORTED, Tally, Vote, margin, quantified, tally
from stackwars.study.claims.votes import votes_for
from stackwars.study.results import effects
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.verdicts import COMPILER, FRONTEND, NOT_DECIDED

Without = dict[str, list[Vote]]
"""Votes without a compiler or a frontend, by its name."""


def votes_without(claim: Claim, dataset: Dataset) -> Without:
    """Return the votes of a claim without each level of its factors; nothing if its query leaves nothing out."""
    study = dataset.study(study_of(dataset.config, claim))
    levels = {COMPILER: study.compilers, FRONTEND: study.programs}
    return {
        level: votes_for(_in_subset(claim, effects.without(factor, level)), dataset)
        for factor in claim.query.get("leave_out", ())
        for level in levels[factor]
    }


def judge(claim: Claim, votes: list[Vote], without: Without) -> tuple[str, str]:
    """Return the verdict and the count that decides: ``9 of 15, needs 8 + 1; not without iree-3.13: 7 of 15``.

    Without a level the majority is enough: the vote to spare is that of all levels together.
    """
    quantifier, cast = claim.query["quantifier"], tally(votes)
    verdict, count = quantified(quantifier, cast), margin(quantifier, cast)
    if verdict not in (SUPPORTED, CONTRADICTED):
        return verdict, count
    lost = [
        f"not without {level}: {_winning(left, verdict)} of {sum(left)}"
        for level, left in ((level, _on_rows_of(votes, some)) for level, some in without.items())
        if quantified(quantifier, left, spare=0) != verdict
    ]
    return (NOT_DECIDED if lost else verdict), "; ".join([count, *lost])


def _in_subset(claim: Claim, subset: str) -> Claim:
    where = {**claim.query["where"], "subset": subset}
    return replace(claim, query={**claim.query, "where": where})


def _on_rows_of(votes: Iterable[Vote], some: Iterable[Vote]) -> Tally:
    """Return some votes on the rows that all votes are on; a row that lacks one leaves it open."""
    known = {_place(vote): vote for vote in some}
    cast = tally(known[place] for place in map(_place, votes) if place in known)
    return cast._replace(open=len(list(votes)) - cast.supports - cast.contradicts)


def _winning(votes: Tally, verdict: str) -> int:
    return votes.supports if verdict == SUPPORTED else votes.contradicts


def _place(vote: Vote) -> str:
    return str({name: value for name, value in (vote.row or {}).items() if name != "subset"})
