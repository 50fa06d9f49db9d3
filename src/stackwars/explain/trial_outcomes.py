"""What a compiler makes of a program: right or wrong values by a limit that follows from rounding, or no values."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from math import prod

import numpy as np

from stackwars.compilers.expected import least_limit
from stackwars.explain.graph import Graph, GraphError, Op, shape, size
from stackwars.explain.outcomes import CRASH, HANG, REFUSED, RIGHT, WRONG
from stackwars.explain.workers import Crashed, TimedOut
from stackwars.measure.agreement import Agreement, agreement

UNKNOWN = "unknown"
BRIEF = 400
"""Characters of what a compiler says."""
_CRASH_OF_COMPILER = re.compile(r"^CompilerCrash: (SIG\w+)")
_CONTRACTED = re.compile(r"lhs_contracting_dimensions = \[([\d, ]*)\]")
_KERNEL_AXES = re.compile(r"\]x\[([^\]]*)\]->")
_WINDOW = re.compile(r"window_dimensions = array<i64: ([\d, ]+)>")
_PARTICULARS = re.compile(r"\S*\.mlir:\d+:\d+|tensor<[^>]*>|[%@#][\w.#]+|0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True)
class Expected:
    """Right results: values, and limits of their errors. certain: masks of integers that do not depend on rounding."""

    values: list[np.ndarray]
    limits: list[float]
    certain: list[np.ndarray | None]

    def compare(self, results: list[np.ndarray]) -> list[Agreement]:
        found = []
        for value, right, limit, certain in zip(results, self.values, self.limits, self.certain, strict=True):
            if certain is not None and value.shape == right.shape:
                value = np.where(certain, value, right)
            found.append(agreement(value, right, limit))
        return found


@dataclass(frozen=True)
class Outcome:
    """kind: one of those above. detail: what happened. signature: equal for faults that are one. results: of a call."""

    kind: str
    detail: str = ""
    signature: str = ""
    results: list[np.ndarray] = field(default_factory=list)


def outcome_of(error: Exception) -> Outcome:
    """Return the outcome of a command that raised."""
    said = str(error)
    if found := _CRASH_OF_COMPILER.match(said):
        return Outcome(CRASH, brief(said), f"{found[1]} in compile")
    if isinstance(error, Crashed):
        return Outcome(CRASH, said, f"{error.signal} in {error.command}")
    if isinstance(error, TimedOut):
        return Outcome(HANG, said)
    return Outcome(REFUSED, brief(said), reason(said))


def reason(said: str) -> str:
    """Return a compiler's message without what depends on the program: places, names, numbers, types.

    >>> reason("RuntimeError: in.mlir:3:8: error: failed to legalize 'chlo.scan' on %3 : tensor<2xf32>")
    "error: failed to legalize 'chlo.scan' on N : N"
    """
    line = brief(said)
    line = line[line.index("error:") :] if "error:" in line else line
    return re.sub(r"\s+", " ", _PARTICULARS.sub("N", line)).strip()[:200]


def brief(said: str) -> str:
    """Return the first line that says an error, or the first."""
    lines = [line for line in said.splitlines() if "error" in line.lower()] or said.splitlines() or [""]
    return lines[0].strip()[:BRIEF]


def judge(calls: list[list[np.ndarray]], expected: Expected) -> Outcome:
    """Return the outcome of calls with the same arguments: the worst one's."""
    compared = [expected.compare(results) for results in calls]
    worst = max(range(len(calls)), key=lambda call: sum(one.wrong for one in compared[call]))
    bad = [number for number, one in enumerate(compared[worst]) if not one.right]
    if not bad:
        return Outcome(RIGHT, str(compared[worst][0]) if compared[worst] else "", results=calls[worst])
    detail = "; ".join(
        f"result {number}: {compared[worst][number]}"
        if len(compared[worst]) > 1
        else str(compared[worst][number])
        for number in bad[:3]
    )
    return Outcome(WRONG, detail, WRONG, calls[worst])


def sum_terms(op: Op, graph: Graph) -> int:
    """Return how many terms each element of an operation's result sums; 1 if it sums none."""
    if not op.operands:
        return 1
    first, text = shape(graph.types[op.operands[0]]), op.form()
    if op.name == "stablehlo.dot_general" and (found := _CONTRACTED.search(text)):
        return prod(first[int(axis)] for axis in found[1].split(",") if axis.strip())
    if op.name == "stablehlo.convolution" and (found := _KERNEL_AXES.search(text)):
        kernel = shape(graph.types[op.operands[1]])
        outputs = kernel[[axis.strip() for axis in found[1].split(",")].index("o")]
        return max(1, prod(kernel) // max(1, outputs))
    if op.name == "stablehlo.reduce":
        return max(1, prod(first) // max(1, size(graph.types[op.results[0]])))
    if op.name == "stablehlo.reduce_window" and (found := _WINDOW.search(text)):
        return prod(int(extent) for extent in found[1].split(","))
    return 1


def rounding_limit(graph: Graph, roundoff: float) -> float:
    """Return the least limit of an error: what rounding does to the longest sum of the graph's operations."""
    longest = 1
    for op in graph.ops:
        with contextlib.suppress(GraphError):  # no tensor, and so no sum
            longest = max(longest, sum_terms(op, graph))
    return least_limit(roundoff, longest)
