"""Results that a run cannot build on: damaged ones, links to others, and those measured beside other programs."""

from __future__ import annotations

import gzip
import hashlib
import re
import statistics
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stackwars.core import documents
from stackwars.measure import FORMS
from stackwars.measure.rounds import ROUNDS

ASIDE = "damaged"
"""The folder, beside the results, that damaged files are moved to."""
NO_RESULTS = {ASIDE, "logs", "claims", "beside"}
"""Folders beside the results that hold none, or what others take over."""
_CHUNK = 1 << 20
_DOCUMENTS = ("cell.json", "replay.json", "ahead.json", "arguments.json")
"""The documents of what is measured or made as one; its other files lie beside them."""
DISTURBED = 0.1
"""Largest share of the cores that other programs may have had, the mean over a document's series; it is 0.05 at most on
a quiet machine."""
_OTHERS = re.compile(r'"other_processes_share": ([\d.e-]+)')
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


def disturbed(root: Path) -> dict[Path, float]:
    """Return the cells and replays beside which other programs ran: {document: share of the cores that those had}.

    It is the mean over the series that the processes make before their loops alternate.
    """
    found = {}
    for path in _results(root):
        if path.name in ("cell.json", "replay.json"):
            shares = [float(share) for share in _OTHERS.findall(path.read_text(errors="replace"))]
            if shares and (mean := statistics.fmean(shares)) > DISTURBED:
                found[path] = mean
    return found


def disturbed_text(root: Path) -> str:
    """Return which cells and replays are to be measured again without other programs, and how; empty if none is."""
    if not (found := disturbed(root)):
        return ""
    folders = " ".join(str(path.parent.relative_to(root)) for path in found)
    return (
        f"expected a machine with nothing else to do, got other programs that had up to "
        f"{100 * max(found.values()):.0f} % of its cores; fix: end them, delete these folders of {root}, and run the "
        f"same command again: {folders}"
    )


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
