"""What is asked of a search: one or two programs, their arguments' values, and the compilers.

A question is a JSON file, the job of `stackwars.explain.cause` and `stackwars.explain.fault`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stackwars import workloads
from stackwars.compilers import arguments
from stackwars.explain.graph import Graph, dtype, shape
from stackwars.explain.workers import CompilerSpec
from stackwars.ir import program_text
from stackwars.measure import documents

INTEGERS = 8
"""Integers of arguments without values are below this."""
SETTINGS = {
    "bound": 0.1,
    "compiler_gap": 1.5,
    "questions": 3,
    "seconds": 0.3,
    "budget_s": 600,
    "timeout_s": 120,
    "memory_cap_gib": "auto",
    "matmul_precision": "highest",
}
"""bound, compiler_gap: gaps between programs and between compilers that are explained. questions: at most so many of
each kind. seconds: each program is timed so long. budget_s: of a search; timeout_s: of a compilation or call."""


@dataclass(frozen=True)
class Side:
    """A program. label: its name in the answer. arguments: its arguments.json; "" if it has none."""

    label: str
    program: str
    arguments: str = ""

    @cached_property
    def text(self) -> str:
        """The program's text. Raises NotImplementedError with the reason in a file that holds no program."""
        text = program_text.read(Path(self.program))
        if why := program_text.missing_reason(text):
            raise NotImplementedError(why)
        return text

    def place(self, place: str) -> str:
        """Return "file:line" of an operation's place, with that of the frontend's source if it is recorded."""
        file, _, line = place.partition(":")
        if file != "-" or not line:
            return place
        sources = self._sources
        known = sources[int(line) - 1] if sources and int(line) <= len(sources) else None
        return known or f"{Path(self.program).name.removesuffix('.gz')}:{line}"

    @cached_property
    def _sources(self) -> list[str | None]:
        document = documents.read(self.arguments) if self.arguments else {}
        return program_text.load_sources(document["sources"]) if "sources" in document else []


@dataclass(frozen=True)
class Question:
    """One search.

    a, b: the slower or suspect program, and the faster one or None. compiler: of a, and of b unless there is
    `other`: then program a is compared in the two. evaluator: an XLA that prints programs in generic form and
    evaluates them. workload, sizes, seed: of the programs' arguments; "" and {} for programs without
    arguments.json. inputs: a .npz with the values of the arguments by their names in the program or their
    numbers; "". suspect: the status of a suspect program in the table. settings: those of SETTINGS that are others.
    """

    name: str
    a: Side
    compiler: CompilerSpec
    evaluator: CompilerSpec
    b: Side | None = None
    other: CompilerSpec | None = None
    workload: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    seed: int = 0
    inputs: str = ""
    suspect: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", SETTINGS | self.settings)

    @classmethod
    def load(cls, document: dict[str, Any]) -> Question:
        """Return the question of its dictionary, which is JSON."""
        sides = {name: document[name] and Side(**document[name]) for name in ("a", "b")}
        specs = {
            name: document[name] and CompilerSpec(**document[name])
            for name in ("compiler", "evaluator", "other")
        }
        return cls(**{**document, **sides, **specs})

    @classmethod
    def read(cls, path: Path) -> Question:
        return cls.load(documents.read(path))

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of a `Worker`."""
        return {"cap_gib": self.settings["memory_cap_gib"], "timeout_s": self.settings["timeout_s"]}

    def failed(self, kind: str, why: str) -> dict[str, Any]:
        """Return the document of a search that found nothing out. kind: cause or fault."""
        own = {"a": self.a.label, "b": self.b and self.b.label, "other": self.other and self.other.name}
        if kind == "fault":
            own = {"program": self.a.label, "kind": self.suspect}
        names = {"schema": 1, "name": self.name, "compiler": self.compiler.name}
        return {**names, **own, "verdict": "failed", "detail": why}

    def values(self, side: Side, graph: Graph) -> list[Callable[[int], np.ndarray]]:
        """Return for each argument a function that returns its value in a set of inputs, in the program's type.

        A function has the attribute `is_fixed` if all sets have the same value.
        """
        kinds = [graph.types[argument] for argument in graph.arguments]
        if not side.arguments:
            given = self._given
            return [_plain(number, kind, given, self.seed) for number, kind in enumerate(kinds)]
        _, entries = arguments.load(Path(side.arguments))
        if len(entries) != len(kinds):
            raise ValueError(
                f"{side.arguments}: expected {len(kinds)} arguments, got {len(entries)}; fix: lower again"
            )
        return [self._entry(entry, kind) for entry, kind in zip(entries, kinds, strict=True)]

    def identities(self, side: Side, graph: Graph) -> list[str]:
        """Return a name for each argument, equal for arguments of both programs that are the same array."""
        if not side.arguments:
            return [f"{number} {graph.types[argument]}" for number, argument in enumerate(graph.arguments)]
        _, entries = arguments.load(Path(side.arguments))
        digest = [hashlib.sha256(entry.base64.encode()).hexdigest()[:12] for entry in entries]
        return [
            f"{entry.kind} {entry.name} {entry.shape} {entry.axes} {code} {graph.types[argument]}"
            for entry, code, argument in zip(entries, digest, graph.arguments, strict=True)
        ]

    @cached_property
    def _given(self) -> dict[str, np.ndarray]:
        return dict(np.load(self.inputs)) if self.inputs else {}

    @cached_property
    def _sets(self) -> list[dict[str, np.ndarray]]:
        return workloads.load(self.workload).input_sets(self.sizes, self.seed)

    def _entry(self, entry: arguments.Entry, kind: str) -> Callable[[int], np.ndarray]:
        def value(number: int) -> np.ndarray:
            array = entry.value(self.seed, self._sets[number])
            return np.ascontiguousarray(array).reshape(shape(kind)).astype(dtype(kind), copy=False)

        return value if entry.kind == "input" else once(value)


def once(value: Callable[[int], np.ndarray]) -> Callable[[int], np.ndarray]:
    """Return a function that returns the value of the first set for every set, and says so by `is_fixed`."""

    def first(_: int) -> np.ndarray:
        return value(0)

    first.is_fixed = True
    return first


def _plain(number: int, kind: str, given: dict[str, np.ndarray], seed: int) -> Callable[[int], np.ndarray]:
    """Return the values of an argument of a program without arguments.json."""
    names = [name for name in (f"arg{number}", f"a{number}", f"arr_{number}", str(number)) if name in given]
    names = names or ([list(given)[number]] if number < len(given) else [])
    if names:
        array = given[names[0]]
        if array.shape != shape(kind):
            raise ValueError(f"{names[0]}: expected {kind}, got shape {array.shape}; fix: the .npz")
        return once(lambda _: array.astype(dtype(kind), copy=False))

    return lambda which: drawn(shape(kind), dtype(kind), number, seed + which)


def drawn(extents: tuple[int, ...], dtype: np.dtype, number: int, seed: int) -> np.ndarray:
    """Return values for the argument of this number of a program that has no list of arguments."""
    rng = np.random.default_rng([seed, number])
    if dtype == np.bool_:
        return rng.random(extents) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, INTEGERS, extents).astype(dtype)
    return rng.standard_normal(extents).astype(dtype)
