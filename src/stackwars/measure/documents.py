"""JSON documents on disk: an error names the file, and what a kill left half-written is told from a result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Damaged(ValueError):
    """A file that does not hold what its name says: names the file and what is wrong with it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: expected a whole document; {problem}")
        self.path = path
        self.problem = problem


def read(path: Path | str) -> Any:
    """The content of a JSON file. Raises Damaged where it has none, and OSError where it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:  # JSON's and Unicode's errors both are
        raise Damaged(Path(path), f"it ends or breaks off: {error}") from None
