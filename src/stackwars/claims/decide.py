"""Every claim of config/claims.yaml, decided by the tables of a run: ``python -m stackwars.claims.decide``.

One claim alone, from what it alone needs, is :mod:`stackwars.claims.one`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from stackwars.claims import definitions, needs
from stackwars.claims.definitions import Claim, ClaimError, Claims, study_of
from stackwars.claims.verdicts import NOT_TESTABLE, Vote, evidence, margin, quantified, tally
from stackwars.claims.votes import of_claim
from stackwars.results import schema
from stackwars.results.dataset import Dataset
from stackwars.results.folder import REFERENCE_TABLES, Folder, command
from stackwars.study.studies import measured_studies


@dataclass(frozen=True)
class Decision:
    """A verdict of stackwars.claims.verdicts, and what it rests on; without data, why there is none."""

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
    votes = of_claim(claim, dataset)
    cast = tally(votes)
    if all(vote.is_silent for vote in votes):
        return Decision(NOT_TESTABLE, *cast, "", _why(claim, votes, dataset))
    quantifier = claim.query["quantifier"]
    return Decision(quantified(quantifier, cast), *cast, margin(quantifier, cast), evidence(votes))


def decide_all(claims: Claims, dataset: Dataset) -> pd.DataFrame:
    """Return claims.csv."""
    rows = [
        {**{"id": claim.id, "origin": claim.origin, "sentence": claim.sentence}, **vars(decide(claim, dataset))}
        for claim in claims.claims
    ]
    return schema.table("claims", rows)


def dataset_of(config: dict, folder: Folder) -> Dataset:
    """Return the tables of a folder of results; those of `make reference` are the reference's."""
    is_reference = config["results"] == "reference" or folder.results.name == REFERENCE_TABLES.name
    return Dataset(config, folder.results, is_reference, folder.measured)


def write(config: dict, folder: Folder) -> None:
    """Write claims.csv of a folder of tables.

    :raises ClaimError: if a claim is wrong.
    """
    schema.write(decide_all(definitions.load(), dataset_of(config, folder)), folder["claims"])


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


if __name__ == "__main__":
    command(write, ClaimError)
