"""report.html from the results: ``python -m stackwars.report.write --output FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from stackwars.report.gather import gather
from stackwars.results.folder import chosen, parser

HERE = Path(__file__).parent
MOST_BYTES = 15_000_000


def page(document: dict) -> str:
    """The whole file: style, script and data in one page that fetches nothing."""
    # A name from a log or a title ends no script and begins no tag.
    data = json.dumps(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {
        name: (HERE / f"page.{name}").read_text(encoding="utf-8") for name in ("html", "css", "js")
    }
    return (
        parts["html"]
        .replace("/* style */", parts["css"])
        .replace("/* script */", parts["js"])
        .replace("/* data */", data)
    )


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--output", required=True, type=Path)
    a = arguments.parse_args()
    _, folder = chosen(a)
    text = page(gather(folder))
    if len(text) > MOST_BYTES:
        sys.exit(
            f"expected a report of at most {MOST_BYTES} bytes; came {len(text)}: list fewer programs"
        )
    a.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
