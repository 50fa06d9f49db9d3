"""One claim against the findings: its verdict and the evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stackwars import frameworks
from stackwars.claims.definitions import Claim
from stackwars.claims.evidence import evidence
from stackwars.claims.predicates import AGAINST, FOR, OPEN, Vote, selected, title, votes
from stackwars.claims.verdicts import NOT_TESTABLE, quantified
from stackwars.results.verdicts import Finding


@dataclass(frozen=True)
class Decision:
    """A verdict of stackwars.claims.verdicts, and what it rests on; without data, why there is none."""

    verdict: str
    evidence: str


def judge(claim: Claim, findings: Iterable[Finding], devices: dict[str, dict]) -> Decision:
    """Decide a claim.

    devices: what was found of each device (context.json), to say why a claim cannot be tested.
    """
    every = ballots(claim, findings)
    cast = [vote for _, found in every for vote in found]
    counts = [sum(vote.vote == side for vote in cast) for side in (FOR, AGAINST, OPEN)]
    if not cast:
        return Decision(NOT_TESTABLE, _why(claim, len(every), devices))
    silent = [title(finding) for finding, found in every if not found]
    # What gave no data could have said anything.
    counts[-1] += len(silent)
    verdict = quantified(claim.predicate["quantifier"], *counts)
    return Decision(verdict, evidence(cast, silent))


def ballots(claim: Claim, findings: Iterable[Finding]) -> list[tuple[Finding, list[Vote]]]:
    """The findings that a claim is about, each with its votes; one without data has none."""
    about = {finding["id"]: finding for finding in selected(claim.predicate, findings)}
    return [
        (finding, votes(claim.predicate, claim.tolerance, finding))
        for finding in _told_apart(list(about.values()))
    ]


def _told_apart(findings: list[Finding]) -> list[Finding]:
    """The findings, with the framework in the title where they are of more than one."""
    if len({finding.get("framework") for finding in findings}) < 2:
        return findings
    return [
        f | {"title": f"{f['title']} under {frameworks.title(f['framework'])}"}
        if f.get("title") and f.get("framework")
        else f
        for f in findings
    ]


def _why(claim: Claim, found: int, devices: dict[str, dict]) -> str:
    absent = {
        name: devices.get(name, {}).get("reason") or "not asked for"
        for name in claim.needs["devices"]
        if not devices.get(name, {}).get("present")
    }
    if absent:
        return "; ".join(f"no {name.upper()} here ({reason})" for name, reason in absent.items())
    if found == 1:
        return "its only result has no data"
    return f"none of {found} results has data" if found else "nothing in this run is about it"
