"""What `make explain` answered, of the answers that are committed with the reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackwars.measure import documents
from stackwars.report.raw import digits

Row = dict[str, Any]
FOLDER = "explain"


def explained(reference: Path) -> list[Row]:
    """Return the answers of every document in the folder, those about workloads first.

    Each: the document's name, title, workload and command; kind (cause or fault), compiler, subject and baseline
    (or the other compiler), verdict, sentence, share that is closed and its interval, regions, cures (what
    makes the fault or the gap go away), the program that it was reduced to and the script that reproduces it.
    """
    found = [documents.read(path) for path in sorted((reference / FOLDER).glob("*.json"))]
    rows = [row for one in found if isinstance(one, dict) for row in _answers(one)]
    return sorted(rows, key=lambda row: not row["workload"])


def _answers(document: Row) -> Iterator[Row]:
    about = {name: document[name] for name in ("name", "title", "command")}
    # A file outside the workloads names itself there.
    about["workload"] = "" if "/" in document["workload"] else document["workload"]
    for answer in document["answers"]:
        asked, found = answer["row"], answer["found"]
        yield about | {
            "kind": asked["kind"],
            "compiler": asked["compiler"],
            "subject": asked.get("a") or asked.get("program") or "",
            "baseline": asked.get("b") or "",
            "other": asked.get("other") or "",
            "verdict": found["verdict"],
            "sentence": answer["text"],
            **{name: _digits((found.get("closed") or {}).get(name)) for name in ("share", "low", "high")},
            "regions": [_region(one) for one in found.get("regions", [])],
            "cures": [*_cures(found)],
            "reduced": answer.get("reduced", ""),
            "script": answer.get("script", ""),
        }


def _region(region: Row) -> Row:
    names = {"what": "what", "count": "count", "subject_line": "line_a", "baseline_line": "line_b"}
    row = {name: region.get(key) for name, key in names.items()}
    row |= {"subject_ms": _digits(region.get("a_ms")), "baseline_ms": _digits(region.get("b_ms"))}
    return row | {
        "share": _digits(region.get("share")),
        "why": (region.get("reason") or {}).get("sentence", ""),
        "subject": region.get("a", []),
        "baseline": region.get("b", []),
    }


def _cures(found: Row) -> Iterator[str]:
    """Yield the options and passes without which the fault, or the gap, is gone."""
    for one in found.get("cures") or []:
        yield one["flag"]
    for one in found.get("options") or []:
        yield f"{one['flag']} ({one['ratio']:.3g} times the time in {one['compiler']})"


def _digits(value: float | None) -> float | None:
    return None if value is None else digits(value)
