"""A search: one or two programs with their arguments, the compilers, the limits, and what it has measured before."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from stackwars.core.client import CompilerSpec
from stackwars.core.program import Program

TIME, MEMORY, COMPILE = "time", "memory", "compile"
ASKS = (TIME, MEMORY, COMPILE)
"""Objectives of an explanation: ms of a call, bytes of XLA's buffer assignment, or seconds of compiling."""
T = TypeVar("T")
Lower = Callable[[dict[str, int]], Program | None]
"""Returns the program with these sizes, or None if there is none."""
Assign = Callable[[str | bytes], dict[str, str]]
"""Compiles a program and returns what `Worker.buffers` does, or raises Failed."""


@dataclass(frozen=True)
class Settings:
    """bound: gaps beyond it are explained. questions: at most so many of each kind. seconds: each program is timed so
    long. budget_s: of a search. timeout_s: of a compilation or call.
    memory_cap_gib: of a worker. matmul_precision: with which frontends lower. ask: one of ASKS.
    """

    bound: float = 0.1
    questions: int = 3
    seconds: float = 0.3
    budget_s: float = 600
    timeout_s: float = 120
    memory_cap_gib: float | str = "auto"
    matmul_precision: str = "highest"
    ask: str = TIME

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of a `Worker`."""
        return {"cap_gib": self.memory_cap_gib, "timeout_s": self.timeout_s}

    @property
    def evaluator_limits(self) -> dict[str, Any]:
        """The limits of a `Worker` that evaluates a whole model in one command."""
        return self.limits | {"timeout_s": max(self.timeout_s, self.budget_s)}


@dataclass(frozen=True)
class Task:
    """One search.

    a, b: the slower or suspect program, and the faster one or None. compiler: of a, and of b unless there is `other`:
    then program a is compared in the two. evaluator: an XLA that prints programs in generic form and evaluates them.
    is_plain: nothing says which layout the arguments of b have, so that it may be guessed. suspect: the status of a
    suspect program in the table. gap: the ratio of the two times in the table. lower: makes program a with other sizes.
    smaller: both programs at smaller sizes, which are evaluated to match the values of a and b, for memory. assign:
    compiles for another device, whose memory is compared; None for the compiler's.
    """

    name: str
    a: Program
    compiler: CompilerSpec
    evaluator: CompilerSpec
    b: Program | None = None
    other: CompilerSpec | None = None
    is_plain: bool = False
    suspect: str = ""
    gap: float | None = None
    settings: Settings = field(default_factory=Settings)
    lower: Lower | None = None
    smaller: tuple[Program, Program] | None = None
    assign: Assign | None = None


class Kept:
    """Finished measurements by their key, with which a search that was killed goes on where it was.

    Each is a line of JSON in kept.jsonl, written as soon as it is known. folder: of the file; without one they live as
    long as this object.
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
        """Return the answer of a key, as `once` does. is_ours: whether it is an error of the harness, never kept."""
        if (value := self.get(key)) is not None:
            from pydantic import TypeAdapter

            return TypeAdapter(kind).validate_python(value)
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
