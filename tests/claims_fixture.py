"""findings.json, claims.csv and the tables of claims from the synthetic results of paper_fixture."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from stackwars.claims import decide as deciding
from stackwars.claims import definitions
from stackwars.claims.definitions import Claims
from stackwars.claims.output import read_claims
from stackwars.findings.collect import write_findings
from stackwars.paper.tables.claims import write_tables
from stackwars.results.folder import Folder
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
    files = Folder(folder)
    write_findings(files)
    deciding.write(config(), files)
    rows = read_claims(files["claims"])
    write_tables(claims(), rows, config(), files["claim_tables"])
    return {row["id"]: row for row in rows}
