"""Finished measurements of a search, so that a search that was killed goes on where it was."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from stackwars.explain.answer import parse

T = TypeVar("T")


class Kept:
    """Values by their key: a line of JSON each in kept.jsonl, written as soon as it is known.

    folder: of the file; without one the values live as long as this object.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._path = folder / "kept.jsonl" if folder else None
        self._values: dict[str, Any] = {}
        if not self._path or not self._path.exists():
            return
        text = self._path.read_text(errors="replace")
        for line in text.splitlines():
            # The last line is half written if the process was killed meanwhile.
            with contextlib.suppress(ValueError, TypeError):
                key, value = json.loads(line)
                self._values[key] = value
        if text and not text.endswith("\n"):
            self._append("\n")

    def get(self, key: str) -> Any | None:
        return self._values.get(key)

    def put(self, key: str, value: Any) -> None:
        self._append(json.dumps([key, value]) + "\n")
        self._values[key] = value

    def once(self, key: str, measure: Callable[[], Any]) -> Any:
        """Return the value of a key, measured and kept if there is none yet. What raises is not kept."""
        value = self.get(key)
        if value is None:
            value = measure()
            self.put(key, value)
        return value

    def answer(self, kind: type[T], key: str, find: Callable[[], T], is_ours: Callable[[T], bool]) -> T:
        """Return the answer of a key, found and kept if there is none yet.

        is_ours: whether an answer is an error of the harness, which is not kept.
        """
        if (value := self.get(key)) is not None:
            return parse(kind, value)
        result = find()
        if not is_ours(result):
            self.put(key, asdict(result))
        return result

    def _append(self, text: str) -> None:
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(text)


def digest(*parts: Any) -> str:
    """Return a key of texts, numbers and tuples of them: equal for equal content."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
