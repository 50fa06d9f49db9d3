"""Decide the claims of config/claims.yaml by the tables of a run: ``python -m stackwars.study.claims.decide``.

With ``--claim ID`` it decides one claim, from what that claim needs: its tables are made by the same functions as the
paper's, from a configuration that has only the claim's workloads and frameworks, in a separate folder.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.lines import fold
from stackwars.study.claims import definitions, needs
from stackwars.study.claims.confirm import Confirmations
from stackwars.study.claims.definitions import Claim, ClaimError, Claims, study_of
from stackwars.study.claims.verdicts import NOT_TESTABLE, Vote, evidence, tally
from stackwars.study.claims.votes import judge, votes_for, votes_without
from stackwars.study.keys import Config
from stackwars.study.results import runs, schema, tables
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.folder import REFERENCE_TABLES, Folder, chosen, parser
from stackwars.study.studies import measured_studies


@dataclass(frozen=True)
class Decision:
    """A verdict of stackwars.study.claims.verdicts, and what it rests on; without data, why there is none."""

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
