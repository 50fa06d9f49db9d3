"""Decide the claims of config/claims.yaml by the tables of a run: ``python -m stackwars.study.claims.decide``.

With ``--claim ID`` it decides one claim, from what that claim needs: its tables are made by the same functions as the
paper's, from a configuration that has only the claim's workloads and frameworks, in a separate folder.

Results are explored, or confirmed by accepted runs that decide again what was committed before them: the revision that
a run was measured with froze the claims and the reference that it has. `make accept` writes what the run says about
them into its folder (`compare.confirmation`), and `Confirmations` counts it. A claim whose sentence or rule changed
after that is explored again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from stackwars.core import documents
from stackwars.core.documents import Row
from stackwars.core.lines import fold
from stackwars.study.claims import definitions, needs
from stackwars.study.claims.definitions import Claim, ClaimError, Claims, study_of
from stackwars.study.claims.votes import (
    DECISIONS,
    NOT_TESTABLE,
    Vote,
    evidence,
    judge,
    tally,
    votes_for,
    votes_without,
)
from stackwars.study.keys import Config
from stackwars.study.results import runs, schema, tables
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.folder import REFERENCE_TABLES, Folder, chosen, parser
from stackwars.study.results.runs import CONFIRMATION, Run
from stackwars.study.results.schema import is_missing
from stackwars.study.studies import measured_studies


@dataclass(frozen=True)
class Decision:
    """A verdict of stackwars.study.claims.votes, and what it rests on; without data, why there is none."""

    verdict: str
    votes_for: int
    votes_against: int
    votes_open: int
    margin: str
    evidence: str


def decide(claim: Claim, dataset: Dataset) -> Decision:
    """Decide a claim by the rows of a dataset.

    A run that did not measure the claim's study may have some of its rows, too few to decide by.
    """
    study = study_of(dataset.config, claim)
    if not dataset.is_reference and study not in measured_studies(dataset.config):
        return Decision(NOT_TESTABLE, *tally([]), "", f"this run did not measure the study {study}")
    votes = votes_for(claim, dataset)
    cast = tally(votes)
    if all(vote.is_silent for vote in votes):
        return Decision(NOT_TESTABLE, *cast, "", _why(claim, votes, dataset))
    verdict, count = judge(claim, votes, votes_without(claim, dataset))
    return Decision(verdict, *cast, count, evidence(votes))


def decide_all(claims: Claims, dataset: Dataset, confirmations: Confirmations | None = None) -> pd.DataFrame:
    """Return claims.csv. confirmations: of the accepted runs, for the reference."""
    rows = []
    for claim in claims.claims:
        row = {"id": claim.id, "origin": claim.origin, "sentence": claim.sentence}
        row |= vars(decide(claim, dataset))
        rows.append(row | (confirmations.columns(claim, row["verdict"]) if confirmations else {}))
    return schema.table("claims", rows)


def dataset_of(config: Config, folder: Folder) -> Dataset:
    is_reference = config.source == "reference" or folder.results.name == REFERENCE_TABLES.name
    return Dataset(config, folder.results, is_reference, folder.measured)


def write(config: Config, folder: Folder) -> None:
    """Write claims.csv of a folder of tables; the reference's has how many accepted runs confirm each claim.

    :raises ClaimError: if a claim is wrong.
    """
    data = dataset_of(config, folder)
    confirmations = Confirmations(runs.read()) if data.is_reference else None
    schema.write(decide_all(definitions.load(), data, confirmations), folder["claims"])


def decide_one(identity: str, config: Config, folder: Folder) -> Row:
    """Return the row of claims.csv of one claim, from what was measured for it.

    The tables go to claims/<id>/ in the folder, where program_forms.json must be for a claim about the
    structure of programs. The reference's claim is the one that its own tables decide.

    :raises ClaimError: if there is no such claim, or if the configuration does not have something that it needs.
    """
    claim = definitions.load().claim(identity)
    needs.check(config, claim)
    if config.source == "reference":
        rows = schema.read(folder["claims"])
        result = rows[rows["id"] == identity]
    else:
        only = needs.restricted(config, claim)
        claim_folder = Folder(folder.results / "claims" / identity, folder.measured)
        tables.write(only, claim_folder)
        result = decide_all(Claims([claim]), dataset_of(only, claim_folder))
        schema.write(result, claim_folder["claims"])
    return result.iloc[0].to_dict()


def format_verdict(row: Row) -> str:
    """Return the id and the verdict, what is claimed, and the evidence, for a terminal."""
    count = f", {row['margin']}" if row["margin"] else ""
    lines = (f"{row['id']}: {row['verdict']}{count}", f"  {row['sentence']}", f"  {row['evidence']}")
    return fold("\n".join(lines), indent="    ") + "\n"


def _why(claim: Claim, votes: Sequence[Vote], dataset: Dataset) -> str:
    devices = dataset.context["devices"]
    absent = {
        name: devices.get(name, {}).get("reason") or "not asked for"
        for name in needs.devices(dataset.config, claim)
        if not devices.get(name, {}).get("present")
    }
    if absent:
        return "; ".join(f"no {name.upper()} here ({reason})" for name, reason in absent.items())
    if len(votes) == 1:
        return "its only result has no data"
    return f"none of {len(votes)} results has data" if votes else "nothing in this run is about it"


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
            (row["reference"], row["run"] == row["reference"] if row["run"] in DECISIONS else None)
            for document in self._documents
            for row in document["claims"]
            if row["definition"] == digest and row["reference"] in DECISIONS and row["run"] != NOT_TESTABLE
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
    if is_missing(row.get("confirmed")) or (row["verdict"] not in DECISIONS and not row["refuted"]):
        return ""
    parts = [f"confirmed by {row['confirmed']:.0f}"] if row["confirmed"] else []
    parts += [f"{row['refuted']:.0f} against"] if row["refuted"] else []
    return ", ".join(parts) or "explored"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--claim", help="id of the only claim")
    a = arguments.parse_args()
    config, folder = chosen(a)
    try:
        if not a.claim:
            return write(config, folder)
        row = decide_one(a.claim, config, folder)
    except ClaimError as error:
        sys.exit(str(error))
    (folder.results / "claims" / f"{a.claim}.txt").write_text(format_verdict(row), encoding="utf-8")


if __name__ == "__main__":
    main()
