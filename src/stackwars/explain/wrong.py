"""Reduce a program to the smallest run of operations with the same fault.

A fault may need several operations at once, and most vanish if an intermediate value becomes a result. So a part of
the program gets the values before it as arguments, its inside stays as it is, and only what leaves it anyway becomes a
result. Constants and what is computed from constants alone stay inside, because compilers fold them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from stackwars.explain.graph import Emitter, Graph, Op, element, is_tensor, shape, size

LITERAL = 1024
"""Most elements of a constant that a part spells out."""
SOURCES = ("stablehlo.constant", "stablehlo.iota")
"""Operations without operands, which nothing makes simpler."""
NOT_CONSTANT = {
    f"stablehlo.{name}"
    for name in (
        "rng", "rng_bit_generator", "infeed", "create_token", "after_all", "partition_id", "replica_id",
    )
}  # fmt: skip
"""Operations that may give other values in every call, or no values."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class Part:
    """Operations of a graph as a program.

    chosen: numbers of its operations that depend on arguments. results: values. literals: values computed from
    constants that are spelled out in place of the operations that compute them.
    """

    chosen: tuple[int, ...]
    results: tuple[int, ...]
    literals: frozenset[int] = frozenset()


class Parts:
    """The parts of a graph. constant: the values that are computed from constants alone."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constant: set[int] = set()
        for op in graph.ops:
            if op.name not in NOT_CONSTANT and all(value in self.constant for value in op.reads):
                self.constant.update(op.results)

    def is_constant(self, op: Op) -> bool:
        return bool(op.results) and all(value in self.constant for value in op.results)

    def whole(self) -> Part:
        """Return the part with every operation that the graph's results need."""
        needed = self.graph.needed(self.graph.results)
        chosen = tuple(op.number for op in needed if not self.is_constant(op))
        results = dict.fromkeys(value for value in self.graph.results if value in self.graph.maker)
        return Part(chosen, tuple(results))

    def part(self, chosen: Iterable[int], results: Iterable[int], literals: Iterable[int] = ()) -> Part:
        """Return the part of those of the chosen operations that the results need, and of the results in it."""
        wanted = set(chosen)
        maker = self.graph.maker
        made = tuple(value for value in results if value in self.constant or maker[value].number in wanted)
        ops, _ = self._closure(Part(tuple(wanted), made, frozenset(literals)))
        left = frozenset(literals) & {value for op in ops for value in op.reads}
        return Part(tuple(op.number for op in ops if op.number in wanted), made, left)

    def operations(self, part: Part) -> list[Op]:
        """Return the part's operations in order, constants included, spelled-out values excluded."""
        return self._closure(part)[0]

    def arguments(self, part: Part) -> list[int]:
        """Return the values that the part reads and does not compute: the graph's arguments first, in its order."""
        return self._closure(part)[1]

    def text(self, part: Part, literals: Mapping[int, np.ndarray] | None = None) -> str:
        """Return the part as a module in generic form. literals: the values of those that the part spells out."""
        emitter, names = Emitter(), {}
        ops, arguments = self._closure(part)
        for value in arguments:
            names[value] = emitter.argument(self.graph.types[value])
        for value in sorted(part.literals):
            names[value] = emitter.line(constant(literals[value], self.graph.types[value]))
        for op in ops:
            emitter.op(self.graph, op, names)
        return emitter.module([(names[value], self.graph.types[value]) for value in part.results])

    def leaving(self, part: Part, chosen: Sequence[int]) -> list[int]:
        """Return what these operations of a part compute that the part returns or its other operations read."""
        inside = set(chosen)
        others = [op for op in self.operations(part) if op.number not in inside]
        read = {value for op in others for value in op.reads} | set(part.results)
        made = (value for number in chosen for value in self.graph.ops[number].results)
        return [value for value in made if value in read and is_tensor(self.graph.types[value])]

    def _closure(self, part: Part) -> tuple[list[Op], list[int]]:
        """Return the operations that the results need, and the values that those read and do not compute."""
        inside, wanted, ops = set(part.chosen), set(part.results), []
        for op in reversed(self.graph.ops):
            needed = any(value in wanted and value not in part.literals for value in op.results)
            if needed and (op.number in inside or self.is_constant(op)):
                ops.append(op)
                wanted.update(op.reads)
        made = {value for op in ops for value in op.results} | part.literals
        return ops[::-1], sorted(wanted - made)


def constant(array: np.ndarray, kind: str) -> str:
    """Return the text of an operation whose result has these values."""
    written = np.empty(size(kind), object)
    written[:] = [_number(one, element(kind)) for one in np.asarray(array).ravel()]
    listed = written.reshape(shape(kind)).tolist()
    body = str(listed).replace("'", "") if size(kind) else ""
    return f'"stablehlo.constant"() <{{value = dense<{body}> : {kind}}}> : () -> {kind}'


def _number(value: np.generic, scalar: str) -> str:
    if scalar == "i1":
        return "true" if value else "false"
    if scalar[0] in "iu":
        return str(int(value))
    if scalar in ("f16", "f32", "f64"):
        bits = value.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[scalar])
        return "0x" + bits.tobytes()[::-1].hex().upper() if not np.isfinite(bits) else f"{float(bits):.17e}"
    raise ValueError(f"expected numbers of one part, got {scalar}; fix: do not spell this constant out")


def shrink(items: Sequence[Item], is_enough: Callable[[list[Item]], bool]) -> list[Item]:
    """Return fewer items that are still enough: none of them can be left out alone.

    is_enough: is true of all items; chunks are left out first, by halves.
    """
    kept, chunk = list(items), max(1, len(items) // 2)
    while kept:
        before, at = len(kept), 0
        while at < len(kept):
            rest = kept[:at] + kept[at + chunk :]
            if is_enough(rest):
                kept = rest
            else:
                at += chunk
        if chunk == 1 and len(kept) == before:
            break
        chunk = max(1, min(chunk // 2, len(kept) // 2))
    return kept


class Reduction:
    """Reduces a part while `is_faulty` stays true of it."""

    def __init__(self, parts: Parts, is_faulty: Callable[[Part], bool]) -> None:
        """is_faulty: of a part; raises TimeoutError once no time is left: the smallest so far is the answer."""
        self.parts, self._is_faulty, self._known = parts, is_faulty, {}
        self.smallest = parts.whole()

    def run(self) -> Part:
        """Return the smallest part found, which is faulty if the whole is."""
        steps = (
            self._start_later, self._stop_earlier, self._return_less, self._use_constants_alone, self._drop_operations,
            self._return_less, self._spell_out,
        )  # fmt: skip
        try:
            for step in steps:
                step()
        except TimeoutError:
            pass
        return self.smallest

    def _try(self, part: Part) -> bool:
        """Return whether a part is faulty; if so it is the smallest so far."""
        if not part.results:
            return False
        if part not in self._known:
            self._known[part] = self._is_faulty(part)
        if self._known[part] and self._extent(part) <= self._extent(self.smallest):
            self.smallest = part
        return self._known[part]

    def _extent(self, part: Part) -> tuple[int, int, int]:
        return len(part.chosen), len(self.parts.operations(part)), len(part.results)

    def _start_later(self) -> None:
        """Replace operations at the start by their values: find the latest start with the fault."""
        part, low, high = self.smallest, 0, len(self.smallest.chosen)
        while high - low > 1:
            middle = (low + high) // 2
            if self._try(self.parts.part(part.chosen[middle:], part.results)):
                low = middle
            else:
                high = middle

    def _stop_earlier(self) -> None:
        """Leave operations at the end out: find the earliest end with the fault."""
        part, low, high = self.smallest, 0, len(self.smallest.chosen)
        while high - low > 1:
            middle = (low + high) // 2
            chosen = part.chosen[:middle]
            if self._try(self.parts.part(chosen, self.parts.leaving(part, chosen))):
                high = middle
            else:
                low = middle

    def _return_less(self) -> None:
        part = self.smallest
        for value in part.results:
            if len(part.results) > 1 and self._try(self.parts.part(part.chosen, [value], part.literals)):
                return
        shrink(part.results, lambda results: self._try(self.parts.part(part.chosen, results, part.literals)))

    def _use_constants_alone(self) -> None:
        """Find a value computed from constants alone that has the fault: the first one."""
        constants = [op for op in self.parts.operations(self.smallest) if self.parts.is_constant(op)]
        for op in constants:
            if op.name not in SOURCES and self._try(self.parts.part((), op.results)):
                return

    def _drop_operations(self) -> None:
        """Replace single operations, and runs of them, by their values."""
        part = self.smallest
        shrink(part.chosen, lambda chosen: self._try(self.parts.part(chosen, part.results)))

    def _spell_out(self) -> None:
        """Write small values computed from constants as constants, the last one first."""
        for op in reversed(self.parts.operations(self.smallest)):
            kinds = [self.parts.graph.types[value] for value in op.results]
            small = all(is_tensor(kind) and 0 < size(kind) <= LITERAL for kind in kinds)
            if self.parts.is_constant(op) and op.name not in SOURCES and small:
                part = self.smallest
                literals = part.literals | set(op.results)
                if not set(op.results) & set(part.results):
                    self._try(self.parts.part(part.chosen, part.results, literals))
