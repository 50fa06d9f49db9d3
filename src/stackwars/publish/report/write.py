"""report.html from the results: ``python -m stackwars.publish.report.write --output FILE``."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from pathlib import Path
from typing import Any

from stackwars.publish.report.gather import gather
from stackwars.study.results.dataset import sources
from stackwars.study.results.folder import chosen, parser

PAGE = Path(__file__).with_name("page")
SCRIPTS = (
    "base", "tables", "plots", "start", "cells", "comparisons", "programs", "timeline", "releases", "why", "views",
)  # fmt: skip
"""Scripts in the order in which the page has them; the last one draws it."""
MOST_BYTES = 15_000_000


def page(document: dict) -> str:
    """Return the whole file: style, script and data in one page that fetches nothing."""
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


def packed(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with its rows, and what only one view needs, as packed texts, which the page unpacks."""
    rows = ("cells", "comparisons", "causes", "compiled", "values", "releases", "explained", "effects")
    timeline, other = document["timeline"], document.get("other")
    calls = [{**call, "profile": call["profile"] and pack(call["profile"])} for call in timeline["calls"]]
    each = {
        name: {key: pack(one) for key, one in document[name].items()} for name in ("details", "replays", "why")
    }
    return {
        **document,
        **each,
        **{name: pack(document[name]) for name in rows},
        **({"other": {**other, "comparisons": pack(other["comparisons"])}} if other else {}),
        "against": document["against"] and pack(document["against"]),
        "claims": [{**one, "votes": pack(one["votes"])} for one in document["claims"]],
        "programs": [{**one, "forms": pack(one["forms"])} for one in document["programs"]],
        "timeline": {**timeline, "calls": pack(calls)},
    }


def pack(value: object) -> str:
    """Return base64 of gzip of JSON; the same text for the same value."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def write(document: dict, output: Path) -> None:
    """Write the page of a document; end the command if it is larger than a report may be."""
    text = page(document)
    if len(text) > MOST_BYTES:
        sys.exit(f"expected a report of at most {MOST_BYTES} bytes, got {len(text)}; fix: list fewer programs")
    output.write_text(text, encoding="utf-8")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--output", required=True, type=Path)
    a = arguments.parse_args()
    config, folder = chosen(a)
    write(gather(sources(config, folder)), a.output)


if __name__ == "__main__":
    main()
