"""Results that a run cannot build on: damaged ones, links to others, and results measured while other programs ran."""

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
from stackwars.measure.rounds import ROUNDS

ASIDE = "damaged"
"""The folder, next to the results, to which a user moves damaged files."""
NO_RESULTS = {ASIDE, "logs", "claims", "beside"}
"""Folders next to the results that hold none, or that hold joint results."""
_OTHERS = re.compile(r'"other_processes_share": ([\d.e-]+)')
_DIGEST = re.compile(r'"output_sha256": "(\w+)"')


def find(root: Path) -> dict[Path, str]:
    """Return {file under `root` that is damaged: why}.

    Documents (.json), programs (.gz) and outputs (.npy) are read to their end. An empty output belongs to a cell that
    is not ok. A symbolic link is damage too: no rule wrote what it points to.
    """
    return {path: problem for path in _results(root) if (problem := _problem(path))}


def disturbed_text(root: Path) -> str:
    """Return which cells and replays are to be measured again without other programs, and how; empty if none is.

    A document's share of other programs is the mean over the series that its processes make before their loops
    alternate.
    """
    busy = {}
    for path in _results(root):
        if path.name in ("cell.json", "replay.json"):
            shares = [float(share) for share in _OTHERS.findall(path.read_text(errors="replace"))]
            # It is 0.05 at most on a quiet machine.
            if shares and (mean := statistics.fmean(shares)) > 0.1:
                busy[path] = mean
    if not busy:
        return ""
    folders = " ".join(str(path.parent.relative_to(root)) for path in busy)
    return (
        f"expected a machine with nothing else to do, got other programs that had up to "
        f"{100 * max(busy.values()):.0f} % of its cores; fix: end them, delete these folders of {root}, and run the "
        f"same command again: {folders}"
    )


def _results(root: Path) -> Iterator[Path]:
    """Yield everything under `root` that may be a result, in order: no rounds, whose job is not done."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        is_unfinished = ROUNDS in parts or any(part.endswith(".part") for part in parts)
        if parts[0] not in NO_RESULTS and not is_unfinished:
            yield path


def _problem(path: Path) -> str:
    """Return why the file is damaged; empty if it is not."""
    if path.is_symlink():
        return f"a symbolic link to {path.readlink()}"
    try:
        if path.suffix == ".json":
            documents.read(path)
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                while file.read(1 << 20):
                    pass
        if path.suffix == ".npy" and path.stat().st_size:
            np.load(path, mmap_mode="r")
            cell = path.with_name("cell.json")
            recorded = _DIGEST.search(cell.read_text(errors="replace")) if cell.exists() else None
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if recorded and recorded[1] != digest:
                return f"the digest {digest[:12]}, not {recorded[1][:12]} as in cell.json"
    except documents.Damaged as damaged:
        return damaged.problem
    except (OSError, EOFError, ValueError, zlib.error) as error:
        return f"{type(error).__name__}: {error}" if path.is_file() else ""
    return ""
