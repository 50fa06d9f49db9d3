"""Every claim of config/claims.yaml, decided by the findings of a run: ``python -m stackwars.claims.decide``.

Writes claims.csv; with ``--pages``, what README and docs say of a claims.csv.
One claim alone, from what it alone needs, is :mod:`stackwars.claims.one`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stackwars.claims import definitions, pages
from stackwars.claims.definitions import ClaimError, Claims
from stackwars.claims.devices import device_findings
from stackwars.claims.judge import judge
from stackwars.claims.needs import compute_minutes
from stackwars.claims.output import read_claims, write_claims
from stackwars.measure import documents
from stackwars.results.read_cells import read_frame, read_json, read_ratios
from stackwars.setup.environments import REPOSITORY
from stackwars.study.config import validate

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", action="store_true", help="write --claims into README and docs")
    parser.add_argument("--claims", type=Path, default=REFERENCE / "claims.csv")
    parser.add_argument("--config", type=documents.read)
    for name in (*FILES, "results", "output"):
        parser.add_argument(f"--{name}", type=Path)
    a = parser.parse_args()
    try:
        if a.pages:
            pages.write(REPOSITORY, read_claims(a.claims))
            return
        given = vars(a)
        lacking = [n for n in ("config", *FILES, "results", "output") if not given[n]]
        if lacking:
            parser.error(f"expected --pages, or also {', '.join('--' + n for n in lacking)}")
        claims, config = definitions.load(), validate(a.config)
        rows = decide_all(claims, config, {n: given[n] for n in FILES}, a.results)
        write_claims(rows, a.output)
    except ClaimError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
