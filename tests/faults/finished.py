"""Every finished number of a folder of results, by its digest."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from stackwars.measure.rounds import STOPPED
from stackwars.workflow.damage import ASIDE

Finished = set[tuple[str, str]]
"""(name, digest) of each: processes are named as their folders, whether they are in a cell yet or not."""


def finished(results: Path) -> Finished:
    """Processes, compilations and peaks below `results`, and those set aside as damaged, under one name."""
    found: Finished = set()
    for path in _files(results):
        try:
            document = json.loads(path.read_text())
        except (OSError, ValueError):
            continue  # no number can be read from it
        where = _name(path.relative_to(results))
        for name, record in _records(where, path.name, document):
            text = json.dumps(record, sort_keys=True)
            found.add((str(name), hashlib.sha256(text.encode()).hexdigest()))
    return found


def lost(before: Finished, after: Finished, spent: tuple[str, ...] = ()) -> list[str]:
    """Names of what was finished before and is not there after as it was; spent: beginnings of other names."""
    return sorted({name for name, _ in before - after if not name.startswith(spent)})


def _files(results: Path) -> Iterator[Path]:
    # Links are followed: what lies behind one is as good as before.
    for folder, _, names in os.walk(results, followlinks=True):
        if not any(part.endswith(".part") for part in Path(folder).relative_to(results).parts):
            yield from (Path(folder, name) for name in names if ".json" in name)


def _name(path: Path) -> Path:
    """The folder of a file, that of a damaged one as it was."""
    parts = [re.sub(r"(?<=process-)(\d+)\.\d+$", r"\1", part) for part in path.parent.parts]
    return Path(*parts[1:] if parts[:1] == [ASIDE] else parts)


def _records(where: Path, name: str, document: dict) -> Iterator[tuple[Path, dict]]:
    if name.startswith("cell.json"):
        for process in document["processes"]:
            yield where / f"process-{process['repetition']}", process
    elif name == "process.json" and document["status"] != STOPPED:
        yield where, document
    elif name.startswith(("ahead.json", "peak.json")):
        yield where / name.partition(".")[0], document
