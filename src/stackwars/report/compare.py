"""Two runs in one report: ``python -m stackwars.report.compare RUN [OTHER]``, which writes compare.html.

Each is a folder of results, as of `stackwars.claims.compare`: everything is of the first one, and beside its
ratios stand those of the other.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from stackwars.claims import reproduction
from stackwars.measure import documents
from stackwars.report import gather
from stackwars.report.write import write
from stackwars.results.folder import REFERENCE, Folder

OUTPUT = Path("compare.html")


def compared(run: Folder, other: Folder) -> dict[str, Any]:
    """The document of a run, with the ratios of another one and what became of the claims and ratios there."""
    return {
        **gather.gather(run),
        "other": {
            "name": gather.titled(other, documents.read(other["context"])),
            "summary": reproduction.compare(run, other)["summary"],
            "ratios": gather.rows(pd.read_csv(other["ratios"]), gather.RATIO),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("other", type=Path, nargs="?", default=REFERENCE)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    a = parser.parse_args()
    write(compared(Folder(a.run), Folder(a.other)), a.output)
    print(f"Both are in the comparisons of {a.output}.")


if __name__ == "__main__":
    main()
