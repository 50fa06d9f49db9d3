"""Two runs in one report: ``python -m stackwars.report.compare RUN [OTHER]``, which writes compare.html.

Each is a folder of tables, as for `stackwars.claims.compare`: everything is from the first one, and its ratios stand
next to those of the other.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from stackwars.claims.compare import compare
from stackwars.claims.decide import dataset_of
from stackwars.report import tables
from stackwars.report.against import against
from stackwars.report.gather import gather, titled
from stackwars.report.write import write
from stackwars.results.dataset import Dataset, Sources
from stackwars.results.folder import REFERENCE_TABLES, Folder
from stackwars.study.config import load

OUTPUT = Path("compare.html")


def compared(run: Dataset, other: Dataset) -> dict[str, Any]:
    """Return the document of a run with the comparisons of another one, and what it reproduces of that one."""
    found = compare(run, other)
    return gather(Sources(run, run, list(run.config["studies"]))) | {
        "against": against(found),
        "other": {
            "name": titled(other),
            "summary": found["summary"],
            "comparisons": tables.records(other.table("comparisons"), tables.COMPARISON),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("other", type=Path, nargs="?", default=REFERENCE_TABLES)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    a = parser.parse_args()
    config = load()
    write(compared(*(dataset_of(config, Folder(path)) for path in (a.run, a.other))), a.output)
    print(f"Both are in the comparisons of {a.output}.")


if __name__ == "__main__":
    main()
