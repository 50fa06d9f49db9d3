"""A search to be made: one or two programs with their arguments, the compilers, and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from stackwars.core.client import CompilerSpec
from stackwars.core.program import Argument, Graph, Program, fixed
from stackwars.core.types import dtype, integer_range, is_float, shape

TIME, MEMORY, COMPILE = "time", "memory", "compile"
ASKS = (TIME, MEMORY, COMPILE)
"""Objectives of an explanation: ms of a call, bytes of XLA's buffer assignment, or seconds of compiling."""
INTEGERS = 8
"""Integers of arguments without values are below this in the first set of inputs, and scalars in both: they may be the
bound of a loop. Others cover their type's range in the second set."""
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


def plain_arguments(
    graph: Graph, inputs: Mapping[str, np.ndarray], seed: int, recorded: Sequence[dict[str, Any]] = ()
) -> tuple[Argument, ...]:
    """Return the arguments of a program that comes without a list of them.

    inputs: their values by name, arg0 or arr_0, see `files.check_inputs`; values are drawn by the seed without any.
    recorded: what is known of the values of each in a call, see `drawn_like`.
    """
    kinds = [graph.types[value] for value in graph.arguments]
    known = recorded if len(recorded) == len(kinds) else [{}] * len(kinds)
    result = []
    for number, (kind, facts) in enumerate(zip(kinds, known, strict=True)):
        array = inputs.get(f"arg{number}", inputs.get(f"arr_{number}"))
        if array is not None:
            result.append(fixed(array.astype(dtype(kind), copy=False), f"{number} {kind}"))
        elif facts.keys() & {"values", "mean"}:
            # Equal arrays of the call stay equal.
            draw = partial(drawn_like, facts, shape(kind), dtype(kind), seed)
            result.append(Argument(f"{facts['digest']} {kind}", draw))
        else:
            draw = partial(drawn, shape(kind), dtype(kind), number, seed)
            result.append(Argument(f"{number} {kind}", draw))
    return tuple(result)


def drawn_like(
    facts: Mapping[str, Any], extents: tuple[int, ...], kind: np.dtype, seed: int, which: int = 0
) -> np.ndarray:
    """Return random values like those of an array in a set of inputs.

    facts: {"digest"}, and {"values"}, which are the same in all sets, or {"mean", "std", "min", "max"}.
    """
    if "values" in facts:
        return np.array(facts["values"]).astype(kind).reshape(extents)
    rng = np.random.default_rng([seed + which, int(facts["digest"], 16)])
    if kind == np.bool_:
        return rng.random(extents) < facts["mean"]
    low, high = facts["min"], facts["max"]
    if is_float(kind):
        return np.clip(rng.normal(facts["mean"], facts["std"], extents), low, high).astype(kind)
    of = np.int64 if low < 0 else np.uint64
    return rng.integers(low, high, extents, dtype=of, endpoint=True).astype(kind)


def drawn(extents: tuple[int, ...], kind: np.dtype, number: int, seed: int, which: int = 0) -> np.ndarray:
    """Return random values for the argument of this number in a set of inputs."""
    rng = np.random.default_rng([seed + which, number])
    if kind == np.bool_:
        return rng.random(extents) < 0.5
    if is_float(kind):
        return rng.standard_normal(extents).astype(kind)
    if kind.kind == "c":
        return (rng.standard_normal(extents) + 1j * rng.standard_normal(extents)).astype(kind)
    if which == 0 or not extents:
        # Every integer type has these, of 2 bits too.
        return rng.integers(0, min(INTEGERS, integer_range(kind)[1] + 1), extents).astype(kind)
    low, high = integer_range(kind)
    return rng.integers(low, high, extents, dtype=np.uint64 if low == 0 else np.int64, endpoint=True).astype(
        kind
    )
