"""Two runs: ``python -m stackwars.publish.report.compare RUN [OTHER]``; ``make compare RUN=... [WITH=...]``.

Each is a folder with the tables of a run, such as results/full or one of results/reference/runs; the other is the
reference by default. It prints what the first one reproduces of the other, and writes compare.html: everything in it is
from the first one, and its ratios stand next to the other's.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from stackwars.core.documents import Damaged
from stackwars.core.lines import fold, wrote
from stackwars.publish.report import tables
from stackwars.publish.report.gather import gather, titled
from stackwars.publish.report.write import write
from stackwars.study.claims.compare import compare, report
from stackwars.study.claims.decide import dataset_of
from stackwars.study.claims.definitions import ClaimError
from stackwars.study.config import ConfigError, load
from stackwars.study.results.dataset import Dataset, Sources
from stackwars.study.results.folder import REFERENCE_TABLES, Folder
from stackwars.study.results.runs import OF_A_RUN
from stackwars.study.results.schema import TABLES

OUTPUT = Path("compare.html")


def compared(run: Dataset, other: Dataset, comparison: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a run with the comparisons of another one, and what it reproduces of that one.

    comparison: by `stackwars.study.claims.compare`.
    """
    return gather(Sources(run, run, list(run.config.studies))) | {
        "against": comparison,
        "other": {
            "name": titled(other),
            "summary": comparison["summary"],
            "comparisons": tables.records(other.comparisons(), tables.COMPARISON),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("other", type=Path, nargs="?", default=REFERENCE_TABLES)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    a = parser.parse_args()
    for folder in (a.run, a.other):
        missing = [name for name in OF_A_RUN if not (folder / name).exists()]
        if missing:
            sys.exit(
                f"{folder}: expected the tables of a run, got no {', '.join(missing)}; fix: make paper (make "
                "reference for the reference's), or name one of results/reference/runs"
            )
    try:
        config = load()
        run, other = (dataset_of(config, Folder(path)) for path in (a.run, a.other))
        for data in (run, other):
            _ = data.context, *map(data.table, TABLES)  # so that what is damaged is named
        comparison = compare(run, other)
    except (ClaimError, ConfigError, Damaged) as error:
        sys.exit(str(error))
    print(fold(report(comparison), indent="    "))
    write(compared(run, other, comparison), a.output)
    print(fold(wrote(a.output, "the ratios of both runs beside each other, and what differs")))


if __name__ == "__main__":
    main()
