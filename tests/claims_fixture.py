"""findings.json, claims.csv and the tables of claims from the synthetic results of paper_fixture."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from stackwars.claims import decide as deciding
from stackwars.claims import definitions
from stackwars.claims.definitions import Claims
from stackwars.claims.output import read_claims, write_claims
from stackwars.claims.verdicts import ORIGINS
from stackwars.findings.collect import write_findings
from stackwars.paper.tables.claims import claims_table, write_tables
from stackwars.results.folder import Folder
from stackwars.study.comparisons import CELLS, comparisons
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
    """Write findings.json, claims.csv and the tables of claims into a folder of results; the claims by id.

    Without the tables of experiments and badges, which are the same for all results and take a second.
    """
    files = Folder(folder)
    write_findings(files)
    write_claims(deciding.decide_all(claims(), config(), files), files["claims"])
    rows = read_claims(files["claims"])
    files["claim_tables"].mkdir(exist_ok=True)
    pair = comparisons(config(), CELLS)[0]
    for origin in ORIGINS:
        text = claims_table(rows, origin, pair)
        (files["claim_tables"] / f"{origin}.tex").write_text(text, encoding="utf-8")
    return {row["id"]: row for row in rows}


def with_experiments(folder: Path) -> None:
    """Add the tables of experiments and badges to a folder that `decide` has written."""
    files = Folder(folder)
    write_tables(claims(), read_claims(files["claims"]), config(), files["claim_tables"])
