"""Every claim of config/claims.yaml, decided by the findings of a run: claims.csv.

One claim alone, from what it alone needs, is :mod:`stackwars.claims.one`.
"""

from __future__ import annotations

from stackwars.claims import definitions
from stackwars.claims.definitions import Claims
from stackwars.claims.devices import device_findings
from stackwars.claims.judge import Decision, judge
from stackwars.claims.needs import compute_minutes
from stackwars.claims.output import write_claims
from stackwars.findings.collect import all_findings
from stackwars.results.folder import REFERENCE, Folder
from stackwars.results.read_cells import of_study, read_frame, read_json, read_ratios
from stackwars.results.verdicts import Finding


def decisions(claims: Claims, files: Folder) -> dict[str, Decision]:
    """{id of a claim: what became of it}."""
    findings, devices = found(files)
    return {claim.id: judge(claim, findings, devices) for claim in claims.claims}


def found(files: Folder) -> tuple[list[Finding], dict[str, dict]]:
    """Everything that claims are judged by, and what was found of each device.

    A committed run has its tables and not what is made from them.
    """
    context = read_json(files["context"])
    cells = (read_frame(files["frame"]), read_ratios(files["ratios"]))
    made = files["findings"]
    findings = [
        *(read_json(made)["findings"] if made.exists() else all_findings(files)),
        *device_findings(*(of_study(table, context) for table in cells)),
    ]
    return findings, context["devices"]


def decide_all(claims: Claims, config: dict, files: Folder) -> list[dict]:
    """The rows of claims.csv."""
    decided = decisions(claims, files)
    rows = []
    for claim in claims.claims:
        minutes = compute_minutes(config, claim, [REFERENCE, files.measured])
        rows.append(
            {
                "id": claim.id,
                "origin": claim.origin,
                "sentence": claim.sentence,
                **vars(decided[claim.id]),
                "human_minutes": claim.human_minutes,
                "compute_minutes": None if minutes is None else round(minutes, 1),
            }
        )
    return rows


def write(config: dict, files: Folder) -> None:
    """From the findings to claims.csv. Raises ClaimError."""
    write_claims(decide_all(definitions.load(), config, files), files["claims"])
