"""Every claim of config/claims.yaml, decided by the findings of a run: ``python -m stackwars.claims``.

Writes claims.csv and the tables of the paper; with ``--pages``, what README and docs say of a claims.csv.
One claim alone, from what it alone needs, is :mod:`stackwars.claim_run`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stackwars import claim_config, claim_pages, documents
from stackwars.claim_config import ClaimError, Claims
from stackwars.claim_devices import device_findings
from stackwars.claim_judge import judge
from stackwars.claim_needs import compute_minutes
from stackwars.claim_sources import read_claims, write_claims
from stackwars.claim_tables import artifact_table, claims_table
from stackwars.claim_verdicts import OURS, PUBLISHED
from stackwars.config import validate
from stackwars.environments import REPOSITORY
from stackwars.sources import read_frame, read_json, read_ratios

REFERENCE = REPOSITORY / "results" / "reference"
FILES = ("findings", "frame", "ratios", "context")


def decide_all(claims: Claims, config: dict, files: dict[str, Path], folder: Path) -> list[dict]:
    """The rows of claims.csv. ``files`` has a path for each of FILES; folder: this run's results."""
    devices = read_json(files["context"])["devices"]
    findings = [
        *read_json(files["findings"])["findings"],
        *device_findings(read_frame(files["frame"]), read_ratios(files["ratios"])),
    ]
    rows = []
    for claim in claims.claims:
        minutes = compute_minutes(config, claim, [REFERENCE, folder])
        rows.append(
            {
                "id": claim.id,
                "origin": claim.origin,
                "sentence": claim.sentence,
                **vars(judge(claim, findings, devices)),
                "human_minutes": claim.human_minutes,
                "compute_minutes": None if minutes is None else round(minutes, 1),
            }
        )
    return rows


def write_tables(claims: Claims, rows: list[dict], config: dict, output: Path) -> None:
    """published.tex, ours.tex and artifact.tex in the folder ``output``."""
    output.mkdir(parents=True, exist_ok=True)
    texts = {
        "published": claims_table(rows, PUBLISHED),
        "ours": claims_table(rows, OURS),
        "artifact": artifact_table(rows, claims, config),
    }
    for name, text in texts.items():
        (output / f"{name}.tex").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", action="store_true", help="write --claims into README and docs")
    parser.add_argument("--claims", type=Path, default=REFERENCE / "claims.csv")
    parser.add_argument("--config", type=documents.read)
    for name in (*FILES, "results", "output", "tables"):
        parser.add_argument(f"--{name}", type=Path)
    a = parser.parse_args()
    try:
        if a.pages:
            claim_pages.write(REPOSITORY, read_claims(a.claims))
            return
        given = vars(a)
        lacking = [n for n in ("config", *FILES, "results", "output", "tables") if not given[n]]
        if lacking:
            parser.error(f"expected --pages, or also {', '.join('--' + n for n in lacking)}")
        claims, config = claim_config.load(), validate(a.config)
        rows = decide_all(claims, config, {n: given[n] for n in FILES}, a.results)
        write_claims(rows, a.output)
        write_tables(claims, read_claims(a.output), config, a.tables)
    except ClaimError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
