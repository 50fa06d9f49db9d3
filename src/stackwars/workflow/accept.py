"""Makes the full run of this machine the committed reference: results/full to results/reference."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from stackwars.claims import pages
from stackwars.claims.output import read_claims
from stackwars.results import folder
from stackwars.results.folder import REFERENCE
from stackwars.setup.environments import REPOSITORY

FULL = REPOSITORY / "results" / "full"
KEPT = (
    *("cell.json", "stablehlo.mlir.gz", "output.npy", "peak.json", "devices.json"),
    *("program.mlir.gz", "arguments.json", "ahead.json", "largest_batch.json", "replay.json"),
    *("audits.json", "two_runs.csv"),
)
"""What the paper is made from. The optimised HLO is left out: it is large, and counted in ahead.json."""
TABLES = (*folder.TABLES.values(), folder.MADE["context"])


def accept(full: Path, reference: Path) -> int:
    """Replace the reference by the results that a paper is made from; return how many files."""
    files = [path for name in KEPT for path in sorted(full.rglob(name))]
    shutil.rmtree(reference, ignore_errors=True)
    for path in files:
        target = reference / path.relative_to(full)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return len(files)


def add_tables(repository: Path) -> None:
    """Make the tables of the reference run again, with the origin that its rows now have.

    Raises CalledProcessError where Snakemake fails.
    """
    made = [f"results/from-reference/{name}" for name in TABLES]
    snakemake = [sys.executable, "-m", "snakemake", *made, "--cores", "1"]
    subprocess.run([*snakemake, "--config", "results=reference"], cwd=repository, check=True)
    for path in made:
        shutil.copyfile(repository / path, repository / "results" / "reference" / Path(path).name)
    pages.write(repository, read_claims(repository / "results" / "reference" / "claims.csv"))


def main() -> None:
    """`python -m stackwars.workflow.accept`, after a full run."""
    if not (FULL / "frame.csv").exists():
        sys.exit(f"expected a full run in {FULL}; make it with: make paper")
    count = accept(FULL, REFERENCE)
    add_tables(REPOSITORY)
    where = REFERENCE.relative_to(REPOSITORY)
    print(f"{count} files and {len(TABLES)} tables are now in {where}; commit them")


if __name__ == "__main__":
    main()
