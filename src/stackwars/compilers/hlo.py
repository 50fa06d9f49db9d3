"""Reads the text of an HLO module, as XLA dumps it after optimisation, without any XLA.

An operation runs where it stands: `Module.runs` says how often each computation does, loops
multiplied, so that whatever is summed over a program counts a loop's body as often as it runs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cached_property

from stackwars.compilers.trips import trip_count

_SHAPE = re.compile(r"([a-z]+[0-9]*(?:e\d+m\d+\w*)?)\[([\d,<=]*)\](?:\{([^}]*)\})?")
_SPACE = re.compile(r"S\((\d+)\)")
_OPCODE = re.compile(r"\s*([\w\-]+)\(")
_NAME = re.compile(r"%([\w.\-]+)")
_COMMENT = re.compile(r"/\*.*?\*/")
_CALLED = re.compile(r"\b(calls|to_apply|body|condition|called_computations|branch_computations)=")
BITS = {"pred": 8, "s4": 4, "u4": 4, "s2": 2, "u2": 2, "token": 0, "opaque": 0, "f4e2m1fn": 4}


CALLS = ("call", "conditional", "async-start", "custom-call")
"""Operations that only run other computations: here, at their side, or (custom) on another core."""


@dataclass(frozen=True)
class Array:
    """One array of a shape: element type, extents and memory space (0 is the device's main memory)."""

    dtype: str
    extents: tuple[int, ...]
    space: int = 0

    @property
    def elements(self) -> int:
        return math.prod(self.extents)

    @property
    def bytes(self) -> int:
        """Bytes of the elements, without a layout's padding."""
        digits = re.search(r"\d+", self.dtype)
        bits = BITS[self.dtype] if self.dtype in BITS else int(digits.group()) if digits else 0
        return math.ceil(self.elements * bits / 8)


@dataclass(frozen=True)
class Instruction:
    """One line of a computation. literal: what stands in a constant's or parameter's parentheses."""

    name: str
    opcode: str
    arrays: tuple[Array, ...]
    operands: tuple[str, ...]
    literal: str
    attributes: str
    root: bool

    @property
    def bytes(self) -> int:
        return sum(array.bytes for array in self.arrays)

    def attribute(self, key: str) -> str:
        """The word or the {...} after `key=`; empty where there is none."""
        found = re.search(rf"\b{key}=(\{{[^}}]*\}}|[^,\s]+)", self.attributes)
        return found.group(1) if found else ""

    @cached_property
    def called(self) -> tuple[str, ...]:
        """Names of the computations that it calls, in the order of the text."""
        names = []
        for match in _CALLED.finditer(self.attributes):
            rest = self.attributes[match.end() :]
            end = rest.find("}") if rest.startswith("{") else rest.find(",")
            names += _NAME.findall(rest if end < 0 else rest[:end])
        return tuple(names)


@dataclass
class Computation:
    """Instructions by name, in the order of the text."""

    name: str
    instructions: dict[str, Instruction] = field(default_factory=dict)

    @property
    def root(self) -> Instruction:
        return next(i for i in reversed(self.instructions.values()) if i.root)

    def parameter(self, number: int) -> Instruction | None:
        """The instruction of this parameter."""
        for i in self.instructions.values():
            if i.opcode == "parameter" and i.literal == str(number):
                return i
        return None


@dataclass(frozen=True)
class Module:
    """All computations, and which of them is the program's own."""

    computations: dict[str, Computation]
    entry: str

    @cached_property
    def trips(self) -> dict[str, int | None]:
        """Body of each loop -> how often it runs; None where the text does not tell."""
        found: dict[str, int | None] = {}
        for computation in self.computations.values():
            for i in computation.instructions.values():
                if i.opcode == "while":
                    found[i.attribute("body").lstrip("%")] = trip_count(self, computation, i)
        return found

    @cached_property
    def runs(self) -> dict[str, int | None]:
        """Control computation -> how often one call of the program runs it; None where unknown.

        Control computations are the entry, loop bodies, branches, and what CALLS call: what fusions,
        reductions and the like call is part of the operation that calls it. Branches count as
        taken, every one.
        """
        runs: dict[str, int | None] = {}

        def enter(name: str, times: int | None) -> None:
            before = runs.get(name, 0)
            runs[name] = None if None in (before, times) else before + times
            for i in self.computations[name].instructions.values():
                if i.opcode == "while":
                    body = i.attribute("body").lstrip("%")
                    trips = self.trips[body]
                    enter(body, None if None in (trips, times) else trips * times)
                elif i.opcode in CALLS:
                    for called in i.called:
                        enter(called, times)

        enter(self.entry, 1)
        return runs

    def inside(self, instruction: Instruction) -> list[Instruction]:
        """Instructions of the fusion that this one is, and of those in it."""
        found = []
        for name in instruction.called:
            for i in self.computations[name].instructions.values():
                found.append(i)
                if i.opcode == "fusion":
                    found += self.inside(i)
        return found


def read(text: str) -> Module:
    """The module of an HLO dump; raises ValueError where the text has no entry computation."""
    computations: dict[str, Computation] = {}
    entry, current = "", None
    for line in text.splitlines():
        if current is None:
            if line.endswith("{") and not line.startswith((" ", "HloModule")):
                name = _NAME.search(line) or re.search(r"(?:ENTRY )?([\w.\-]+) ", line)
                current = computations.setdefault(name.group(1), Computation(name.group(1)))
                entry = current.name if line.startswith("ENTRY") else entry
        elif line.startswith("}"):
            current = None
        elif " = " in line:
            instruction = _instruction(line)
            current.instructions[instruction.name] = instruction
    if not entry:
        raise ValueError("expected the text of an HLO module, found no ENTRY computation")
    return Module(computations, entry)


def _instruction(line: str) -> Instruction:
    left, _, right = _COMMENT.sub("", line).strip().partition(" = ")
    root = left.startswith("ROOT ")
    end = _closing(right, 0) + 1 if right.startswith("(") else right.index(" ")
    arrays = tuple(_arrays(right[:end]))
    opcode = _OPCODE.match(right, end)
    start = opcode.end() - 1
    close = _closing(right, start)
    inner = right[start + 1 : close]
    return Instruction(
        name=left.removeprefix("ROOT ").lstrip("%"),
        opcode=opcode.group(1),
        arrays=arrays,
        operands=() if opcode.group(1) == "constant" else tuple(_NAME.findall(inner)),
        literal=inner if opcode.group(1) in ("constant", "parameter") else "",
        attributes=right[close + 1 :],
        root=root,
    )


def _arrays(text: str) -> list[Array]:
    found = []
    for dtype, extents, layout in _SHAPE.findall(text):
        space = _SPACE.search(layout)
        numbers = tuple(int(e.lstrip("<=")) for e in extents.split(",") if e)
        found.append(Array(dtype, numbers, int(space.group(1)) if space else 0))
    return found


def _closing(text: str, start: int) -> int:
    """Where the parenthesis that opens at `start` closes."""
    depth = 0
    for match in re.compile(r"[()]").finditer(text, start):
        depth += 1 if match.group() == "(" else -1
        if depth == 0:
            return match.start()
    raise ValueError(f"expected a closing parenthesis in: {text[:200]}")
