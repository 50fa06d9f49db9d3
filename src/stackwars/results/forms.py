"""What a framework's compiler made of a workload, as it lies beside its cell: standard library only."""

from __future__ import annotations

import gzip
from pathlib import Path

from stackwars.measure import FORMS


def form(cell: Path, name: str) -> str:
    """A form of a cell, from its folder. Raises OSError where it cannot be read."""
    return gzip.decompress((cell / FORMS / f"{name}.txt.gz").read_bytes()).decode()
