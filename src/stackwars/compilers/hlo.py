"""Reads the text of an HLO module, as XLA dumps it after optimisation, without any XLA.

An operation runs where it stands: `Module.runs` says how often each computation does, so that what
is summed over a program counts a loop's body as often as XLA says that it runs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cached_property

_SHAPE = re.compile(r"([a-z]+[0-9]*(?:e\d+m\d+\w*)?)\[([\d,<=]*)\]")
_OPCODE = re.compile(r"\s*([\w\-]+)\(")
_NAME = re.compile(r"%([\w.\-]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_COMMENT = re.compile(r"/\*.*?\*/")
_CALLED = re.compile(r"\b(calls|to_apply|body|condition|called_computations|branch_computations)=")
BITS = {"pred": 8, "s4": 4, "u4": 4, "s2": 2, "u2": 2, "token": 0, "opaque": 0, "f4e2m1fn": 4}


CALLS = ("call", "conditional", "async-start", "custom-call")
"""Operations that only run other computations: here, at their side, or (custom) on another core."""


@dataclass(frozen=True)
class Array:
    """One array of a shape: element type and extents."""

    dtype: str
    extents: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Bytes of the elements, without a layout's padding."""
        digits = re.search(r"\d+", self.dtype)
        bits = BITS[self.dtype] if self.dtype in BITS else int(digits.group()) if digits else 0
        return math.ceil(math.prod(self.extents) * bits / 8)


@dataclass(frozen=True)
class Instruction:
    """One line of a computation."""

    name: str
    opcode: str
    arrays: tuple[Array, ...]
    operands: tuple[str, ...]
    attributes: str
    root: bool

    @property
    def bytes(self) -> int:
        return sum(array.bytes for array in self.arrays)

    def attribute(self, key: str) -> str:
        """The word or the {...} after `key=`; empty where there is none."""
        result = re.search(rf"\b{key}=(\{{[^}}]*\}}|[^,\s]+)", self.attributes)
        return result.group(1) if result else ""

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


@dataclass(frozen=True)
class Module:
    """All computations, and which of them is the program's own."""

    computations: dict[str, Computation]
    entry: str

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
                    known = _TRIPS.search(i.attributes)
                    trips = None if known is None or times is None else int(known.group(1)) * times
                    enter(i.attribute("body").lstrip("%"), trips)
                elif i.opcode in CALLS:
                    for called in i.called:
                        enter(called, times)

        enter(self.entry, 1)
        return runs

    def inside(self, instruction: Instruction) -> list[Instruction]:
        """Instructions of the fusion that this one is, and of those in it."""
        result = []
        for name in instruction.called:
            for i in self.computations[name].instructions.values():
                result.append(i)
                if i.opcode == "fusion":
                    result += self.inside(i)
        return result


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
        attributes=right[close + 1 :],
        root=root,
    )


def _arrays(text: str) -> list[Array]:
    result = []
    for dtype, extents in _SHAPE.findall(text):
        numbers = tuple(int(e.lstrip("<=")) for e in extents.split(",") if e)
        result.append(Array(dtype, numbers))
    return result


def _closing(text: str, start: int) -> int:
    """Where the parenthesis that opens at `start` closes."""
    depth = 0
    for match in re.compile(r"[()]").finditer(text, start):
        depth += 1 if match.group() == "(" else -1
        if depth == 0:
            return match.start()
    raise ValueError(f"expected a closing parenthesis in: {text[:200]}")
