"""findings.json, claims.csv and the tables of claims from the synthetic results of paper_fixture."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import paper_fixture
from stackwars.claims import definitions
from stackwars.claims.decide import decide_all
from stackwars.claims.definitions import Claims
from stackwars.claims.output import read_claims, write_claims
from stackwars.findings.collect import write_findings
from stackwars.paper.tables.claims import write_tables
from stackwars.study.config import load


@cache
def claims() -> Claims:
    """The committed claims."""
    return definitions.load()


@cache
def config() -> dict:
    """The committed configuration."""
    return load()


def decide(folder: Path) -> dict[str, dict]:
    """Write findings.json, claims.csv and claim_tables into a folder of results; the claims by id."""
    files = paper_fixture.files(folder) | {"findings": folder / "findings.json"}
    write_findings(files, files["findings"])
    rows = decide_all(claims(), config(), files, folder)
    write_claims(rows, folder / "claims.csv")
    rows = read_claims(folder / "claims.csv")
    write_tables(claims(), rows, config(), folder / "claim_tables")
    return {row["id"]: row for row in rows}
