"""Two runs compared: ``python -m stackwars.claims.compare RUN [OTHER]``; ``make compare RUN=... [WITH=...]``.

Each is a folder of results with frame.csv, ratios.csv, split.csv, claims.csv and context.json, such as
results/full or one of results/reference/runs; the other is the reference where none is given.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stackwars.claims.reproduction import compare, report
from stackwars.results.folder import REFERENCE, Folder

NEEDED = ("frame", "ratios", "split", "claims", "context")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("other", type=Path, nargs="?", default=REFERENCE)
    a = parser.parse_args()
    folders = [Folder(a.run), Folder(a.other)]
    for folder in folders:
        lacking = [folder[name].name for name in NEEDED if not folder[name].exists()]
        if lacking:
            sys.exit(
                f"expected the tables of a run in {folder.results}; {', '.join(lacking)} missing. Make them "
                "with: make paper, or name one of results/reference/runs"
            )
    print(report(compare(*folders)), end="")


if __name__ == "__main__":
    main()
