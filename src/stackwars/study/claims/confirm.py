"""Distinguish explored from confirmed results: accepted runs decide again what was committed before them.

The revision that a run was measured with froze the claims and the reference that it holds. `make accept` writes what
the run says about them into its folder (`compare.confirmation`), and this module counts it. A claim whose sentence or
rule changed after that is explored again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from stackwars.core import documents, machine
from stackwars.core.documents import Row
from stackwars.study.claims import definitions
from stackwars.study.claims.definitions import Claim
from stackwars.study.claims.verdicts import CONTRADICTED, NOT_TESTABLE, SUPPORTED
from stackwars.study.results.runs import CONFIRMATION, Run
from stackwars.study.results.schema import is_missing

DEFINITIONS = "config/claims.yaml"
TABLES = {name: f"results/reference/{name}.csv" for name in ("claims", "comparisons")}
"""The committed tables of the reference."""
DECIDED = {SUPPORTED, CONTRADICTED}


class Freeze(NamedTuple):
    """A revision, and git's digests of DEFINITIONS and TABLES in it, by their paths."""

    revision: str
    digests: dict[str, str]

    def text(self, path: str) -> str:
        return machine.git("show", self.digests[path]) + "\n"


def freeze(revisions: Collection[str]) -> Freeze | None:
    """Return what was committed before a run that was measured with these revisions; None if git does not have it.

    It is the newest revision that all of them, and the checkout, descend from.
    """
    if not revisions:
        return None
    revision = machine.git("merge-base", "--octopus", *sorted(revisions), "HEAD")
    digests = {
        path: machine.git("rev-parse", "--verify", "--quiet", f"{revision}:{path}")
        for path in (DEFINITIONS, *TABLES.values())
    }
    return Freeze(revision, digests) if revision and all(digests.values()) else None


class Confirmations:
    """Results of the accepted runs about the reference that was committed before each of them."""

    def __init__(self, accepted: Iterable[Run]) -> None:
        paths = [run.folder / CONFIRMATION for run in accepted]
        all_documents = [documents.read(path) for path in paths if path.exists()]
        self._documents = [one for one in all_documents if one["revision"] and _has_tests(one)]

    def columns(self, claim: Claim, verdict: str) -> Row:
        """Return the columns confirmed and refuted of claims.csv; nothing for a claim about counts.

        verdict: the reference's; a run confirms it only if it stood before the run.
        """
        if definitions.is_counted(claim):
            return {}
        result = self._outcomes(claim)
        return {"confirmed": result.count((verdict, True)), "refuted": sum(held is False for _, held in result)}

    def _outcomes(self, claim: Claim) -> list[tuple[str, bool | None]]:
        """Return the verdict before each run that tested a decided claim, and whether it held; None if undecided."""
        digest = definitions.digest(**vars(claim))
        return [
            (row["reference"], row["run"] == row["reference"] if row["run"] in DECIDED else None)
            for document in self._documents
            for row in document["claims"]
            if row["definition"] == digest and row["reference"] in DECIDED and row["run"] != NOT_TESTABLE
        ]

    def summary(self, claims: Iterable[Claim]) -> str:
        """Return a few sentences: how many claims, directions and predictions held in runs after them."""
        if not self._documents:
            return "No accepted run was compared with claims frozen before it, so every result is explored."
        tested = [{held for _, held in outcomes} for outcomes in map(self._outcomes, claims) if outcomes]
        held = sum(True in some and False not in some for some in tested)
        refuted = sum(False in some for some in tested)
        same, opposite, undecided = self._sums("directions", "same", "opposite", "not decided")
        inside, outside = self._sums("predictions", "inside", "outside")
        count = len(self._documents)
        text = (
            f"In {count} {'run' if count == 1 else 'runs'} measured after they were committed, {held:,} of "
            f"{len(tested):,} claims and {same:,} of {same + opposite + undecided:,} directions of ratios held "
            f"(reversed: {refuted:,} and {opposite:,}); everything else is explored. "
        )
        if not inside + outside:
            return text + "The kind of machine was new, so no ratio was predicted."
        return f"{text}In the interval predicted for the kind of machine: {inside:,} of {inside + outside:,} ratios."

    def _sums(self, name: str, *counts: str) -> list[int]:
        return [sum(document[name][count] for document in self._documents) for count in counts]


def _has_tests(document: Row) -> bool:
    """Return whether a run could test a claim or a direction. One of compilations alone has no time to test."""
    is_testable = any(row["run"] != NOT_TESTABLE for row in document["claims"])
    return is_testable or any(document["directions"].values())


def label(row: Row) -> str:
    """Return ``confirmed by 2``, ``explored`` or ``1 against`` for a row of claims.csv.

    Nothing for a claim about counts, or one that is not decided and that no run speaks against.
    """
    if is_missing(row.get("confirmed")) or (row["verdict"] not in DECIDED and not row["refuted"]):
        return ""
    parts = [f"confirmed by {row['confirmed']:.0f}"] if row["confirmed"] else []
    parts += [f"{row['refuted']:.0f} against"] if row["refuted"] else []
    return ", ".join(parts) or "explored"
