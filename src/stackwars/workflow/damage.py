"""Results that are no results any more: found before a run, set aside by name, and measured again."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np

from stackwars.measure import FORMS, documents

ASIDE = "damaged"
"""The folder, beside the results, that damaged files are moved to."""
_UNTOUCHED = {ASIDE, "logs", "claims"}
_CHUNK = 1 << 20


def find(root: Path) -> dict[Path, str]:
    """What under `root` is damaged: {file, or folder of a process: why}.

    Documents (.json), programs (.gz) and outputs (.npy) are read to their end. An empty output belongs to
    a cell that is not ok.
    """
    found: dict[Path, str] = {}
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if parts[0] in _UNTOUCHED or any(part.endswith(".part") for part in parts):
            continue
        if problem := _problem(path):
            # A process is one result: its events without its end say nothing. Of a folder of forms, Snakemake
            # finds out that it is missing, not that a file in it is.
            inside = path.relative_to(root).parents
            folders = [root / p for p in inside if p.name.startswith("process-") or p.name == FORMS]
            found.setdefault(folders[-1] if folders else path, problem)
    return found


def set_aside(root: Path) -> list[str]:
    """Move what is damaged to `root`/damaged, under its own path; a line for each that says so."""
    lines = []
    for path, problem in find(root).items():
        aside = _free(root / ASIDE / path.relative_to(root))
        aside.parent.mkdir(parents=True, exist_ok=True)
        path.rename(aside)
        lines.append(
            f"damaged: {path} ({problem}); it is kept as {aside}, and paper.pdf measures it again"
        )
    return lines


def _problem(path: Path) -> str:
    """Why the file is damaged; empty where it is not."""
    try:
        if path.suffix == ".json":
            documents.read(path)
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                while file.read(_CHUNK):
                    pass
        if path.suffix == ".npy" and path.stat().st_size:
            np.load(path, mmap_mode="r")
    except documents.Damaged as damaged:
        return damaged.problem
    except (OSError, EOFError, ValueError, zlib.error) as error:
        return f"{type(error).__name__}: {error}" if path.is_file() else ""
    return ""


def _free(path: Path) -> Path:
    """The path, or the first of path.1, path.2, ... that nothing has yet."""
    names = (path.with_name(f"{path.name}.{number}") for number in range(1, 10_000))
    return path if not path.exists() else next(name for name in names if not name.exists())
