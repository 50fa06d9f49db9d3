"""faults.json: what came of every fault that was injected into a run, as the paper reads it.

`make faults` writes it (tests/faults); of another schema, or where there is none, the paper says that no fault
was injected.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stackwars.measure import documents

SCHEMA = 1
SURVIVED, NOT_SURVIVED, NOT_TRIED = "survived", "not survived", "not tried"


def entry(identity: str, title: str, outcome: str, **figures: Any) -> dict[str, Any]:
    """One entry of the document.

    figures: lost, how many finished numbers are gone; wrong, how many are shown that are not on disk or not
    valid; told, the line by which the user knows; why, where it was not survived or not tried; seconds in all.
    """
    found = {"lost": 0, "wrong": 0, "told": "", "why": "", "seconds": 0.0, **figures}
    return {"id": identity, "title": title, "outcome": outcome, **found}


def read(path: Path) -> dict[str, Any]:
    """The document {"schema", "revision", "machine", "faults": [...]}; one without faults where there is none.

    Raises ValueError for a file of another schema.
    """
    if not path.exists():
        return {"schema": SCHEMA, "revision": "", "machine": {}, "faults": []}
    document = documents.read(path)
    if document.get("schema") != SCHEMA:
        raise ValueError(
            f"{path}: expected faults of schema {SCHEMA}, came {document.get('schema')}. "
            "Make the file again: make faults"
        )
    return document


def write(document: dict[str, Any], path: Path) -> None:
    """Write the document whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(document, indent=1) + "\n")
    part.replace(path)
