"""Specifications of jobs, which are too long for a command: JSON files, named by their content.

A command then is short and can be pasted into a shell, and a changed specification is another parameter of the
rule. Reading the rules writes no file: `planned` names it, and `write_planned` writes all when a run starts.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(".snakemake", "stackwars", "job_specs")
_planned: dict[Path, str] = {}
_running = False


def planned(kind: str, content: Any) -> str:
    """Return the path of a file with this content; it is written when the run starts, or at once after that.

    kind: the beginning of its name. content: JSON, or a job: a dataclass that `documents.read_job` reads back.
    """
    # Keys keep their order: the tables have the order of the configuration's frameworks and compilers.
    text = json.dumps(asdict(content) if is_dataclass(content) else content, indent=1)
    path = FOLDER / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    _planned[path] = text
    if _running:
        _write(path, text)
    return str(path)


def write_planned() -> None:
    """Write the files of this run and delete those of earlier ones. The run holds the lock."""
    global _running
    _running = True
    for path in set(FOLDER.glob("*.json")) - _planned.keys():
        path.unlink()
    for path, text in _planned.items():
        _write(path, text)


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)
