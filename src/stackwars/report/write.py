"""report.html from the results: ``python -m stackwars.report.write --output FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from stackwars.report.gather import gather
from stackwars.report.pack import packed
from stackwars.results.folder import chosen, parser

PAGE = Path(__file__).with_name("page")
SCRIPTS = (
    *("base", "place", "table", "replay", "heat", "start", "calls", "memory", "logs", "cells", "forest"),
    *("comparisons", "programs", "graph", "trace", "timeline", "claims", "audits", "views"),
)  # fmt: skip
"""In the order in which they stand in the page; the last one draws it."""
MOST_BYTES = 15_000_000


def page(document: dict) -> str:
    """The whole file: style, script and data in one page that fetches nothing."""
    # A name from a log or a title ends no script and begins no tag.
    data = json.dumps(packed(document), separators=(",", ":"), allow_nan=False)
    script = "\n".join((PAGE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    return (
        (PAGE / "page.html")
        .read_text(encoding="utf-8")
        .replace("/* style */", (PAGE / "page.css").read_text(encoding="utf-8"))
        .replace("/* script */", script)
        .replace("/* data */", data.replace("<", "\\u003c"))
    )


def write(document: dict, output: Path) -> None:
    """The page of a document; ends the command where that is larger than a report may be."""
    text = page(document)
    if len(text) > MOST_BYTES:
        sys.exit(
            f"expected a report of at most {MOST_BYTES} bytes; came {len(text)}: list fewer programs"
        )
    output.write_text(text, encoding="utf-8")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--output", required=True, type=Path)
    a = arguments.parse_args()
    _, folder = chosen(a)
    write(gather(folder), a.output)


if __name__ == "__main__":
    main()
