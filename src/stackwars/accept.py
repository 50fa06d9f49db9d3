"""Makes the full run of this machine the committed reference: results/full to results/reference."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from stackwars import aggregate
from stackwars.config import load
from stackwars.environments import REPOSITORY

FULL = REPOSITORY / "results" / "full"
REFERENCE = REPOSITORY / "results" / "reference"
KEPT = ("cell.json", "stablehlo.mlir.gz", "output.npy", "peak.json", "devices.json")


def accept(full: Path, reference: Path) -> int:
    """Replace the reference by the results that a paper is made from; return how many files.

    The frame is made again, with the origin that its rows then have.
    """
    files = [path for name in KEPT for path in sorted(full.rglob(name))]
    shutil.rmtree(reference, ignore_errors=True)
    for path in files:
        target = reference / path.relative_to(full)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    aggregate.aggregate({**load(), "results": "reference"}, reference, reference)
    return len(files)


def main() -> None:
    """`python -m stackwars.accept`, after a full run."""
    if not (FULL / "frame.csv").exists():
        sys.exit(f"expected a full run in {FULL}; make it with: make paper")
    print(
        f"{accept(FULL, REFERENCE)} files are now in {REFERENCE.relative_to(REPOSITORY)}; commit them"
    )


if __name__ == "__main__":
    main()
