"""Results that a run cannot build on: damaged ones, and those dated ahead of the clock."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from stackwars.measure import FORMS, documents
from stackwars.measure.rounds import ROUNDS

ASIDE = "damaged"
"""The folder, beside the results, that damaged files are moved to."""
NO_RESULTS = {ASIDE, "logs", "claims", "beside"}
"""Folders beside the results that hold none, or what others take over."""
SLACK_S = 2.0
"""File systems round dates, and so do network clocks."""
STEP_NS = 1000
_CHUNK = 1 << 20
_DOCUMENTS = ("cell.json", "replay.json", "ahead.json", "arguments.json")
"""The documents of what is measured or made as one; its other files lie beside them."""
_DIGEST = re.compile(r'"output_sha256": "(\w+)"')


def find(root: Path) -> dict[Path, str]:
    """Return what under `root` is damaged: {file, or folder of forms: why}.

    Documents (.json), programs (.gz) and outputs (.npy) are read to their end. An empty output belongs to
    a cell that is not ok.
    """
    result: dict[Path, str] = {}
    for path in _results(root):
        if problem := _problem(path):
            # Of a folder of forms, Snakemake finds out that it is missing, not that a file in it is.
            folders = [root / p for p in path.relative_to(root).parents if p.name == FORMS]
            result.setdefault(folders[-1] if folders else path, problem)
    return result


def links(root: Path) -> list[Path]:
    """Return the symbolic links among the results: no rule wrote what they point to."""
    return [path for path in _results(root) if path.is_symlink()]


def quarantine(root: Path) -> list[str]:
    """Move what is damaged to `root`/damaged, under its own path; return a line for each that says so.

    The other files of a cell, replay or compilation go with it: they are measured again as one, and what
    was measured must not be replaced before somebody has seen it.
    """
    lines = []
    for path, problem in find(root).items():
        if not path.exists():
            continue  # it went with another one
        with_it = _others(path)
        aside = _move(root, path)
        for other in with_it:
            _move(root, other)
        which = ", with what was made with it" if with_it else ""
        lines.append(
            f"damaged: {path} ({problem}); it is kept as {aside}{which}, and what needs it is measured again"
        )
    return lines


def _results(root: Path) -> Iterator[Path]:
    """Yield everything under `root` that may be a result, in order: no rounds, whose job is not done."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        is_unfinished = ROUNDS in parts or any(part.endswith(".part") for part in parts)
        if parts[0] not in NO_RESULTS and not is_unfinished:
            yield path


def _others(path: Path) -> list[Path]:
    """Return what was made together with a damaged file or folder."""
    if not any((path.parent / d).exists() for d in _DOCUMENTS):
        return []
    return [p for p in sorted(path.parent.iterdir()) if p not in (path, path.with_name(ROUNDS))]


def _move(root: Path, path: Path) -> Path:
    aside = _free(root / ASIDE / path.relative_to(root))
    aside.parent.mkdir(parents=True, exist_ok=True)
    return path.rename(aside)


def _problem(path: Path) -> str:
    """Return why the file is damaged; empty if it is not."""
    try:
        if path.suffix == ".json":
            documents.read(path)
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                while file.read(_CHUNK):
                    pass
        if path.suffix == ".npy" and path.stat().st_size:
            np.load(path, mmap_mode="r")
            return _other_output(path)
    except documents.Damaged as damaged:
        return damaged.problem
    except (OSError, EOFError, ValueError, zlib.error) as error:
        return f"{type(error).__name__}: {error}" if path.is_file() else ""
    return ""


def _other_output(path: Path) -> str:
    """Return why this is not the output whose digest its cell has; empty if it is, or if no cell says."""
    cell = path.with_name("cell.json")
    recorded = _DIGEST.search(cell.read_text(errors="replace")) if cell.exists() else None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if recorded is None or recorded[1] == digest:
        return ""
    return f"expected the digest {recorded[1][:12]} of {cell.name}, got {digest[:12]}"


def _free(path: Path) -> Path:
    """Return the path, or the first of path.1, path.2, ... that does not exist."""
    names = (path.with_name(f"{path.name}.{number}") for number in range(1, 10_000))
    return path if not path.exists() else next(name for name in names if not name.exists())


def fix_future_mtimes(folders: Iterable[Path], files: Iterable[Path] = ()) -> int:
    """Date files that are ahead of the clock now, in the order in which they were made; return their number.

    The clock was set back since they were made. Snakemake goes by dates: it refuses what it makes from such a
    result, and takes a paper for newer than the tables that it is to be made from.
    """
    now = time.time_ns()
    paths = [*files, *(path for folder in folders for path in folder.rglob("*"))]
    dated = [(path.stat().st_mtime_ns, path) for path in paths if path.exists()]
    ahead = sorted((date, path) for date, path in dated if date > now + SLACK_S * 1e9)
    for place, (_, path) in enumerate(ahead):
        os.utime(path, ns=(now, now + place * STEP_NS))
    return len(ahead)
