"""Read XLA's buffer assignment, as XLA dumps it: bytes of a program's allocations, and the buffers alive at the peak.

Standard library only. A program needs arguments + outputs + temporaries - aliases bytes of the main memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

FILE = "buffer-assignment.txt"
"""Suffix of the name of the file that XLA dumps."""
ARGUMENT, OUTPUT, CONSTANT, TEMPORARY = "argument", "output", "constant", "temporary"
_ALLOCATION = re.compile(r"allocation \d+: size (\d+), (.*)")
_COLOUR = re.compile(r"\bcolor (\d+)\b")
_PARAMETER = re.compile(r"parameter (\d+), shape \|([^|]*)\|")
_VALUE = re.compile(r"\s+value: <\d+ (\S+) @\d+> \(size=(\d+),offset=(\d+)\): (\S+)")
_RANGE = re.compile(r"\s+(\S+\{[\d,]*\}):(\d+)-(\d+)$")


@dataclass(frozen=True)
class Buffers:
    """Bytes of a compiled program in the device's main memory, padding included.

    alias: shared by outputs and arguments. temp includes constants.
    """

    argument: int
    output: int
    temp: int
    alias: int

    @property
    def hbm(self) -> int:
        return self.argument + self.output + self.temp - self.alias


@dataclass(frozen=True)
class Value:
    """One value in an allocation. name: its instruction, followed by "{1}" for a part of a tuple."""

    name: str
    bytes: int
    offset: int
    shape: str

    @property
    def instruction(self) -> str:
        return self.name.partition("{")[0]


@dataclass
class Allocation:
    """One allocation. kind: ARGUMENT, OUTPUT, CONSTANT or TEMPORARY. is_aliased: an argument holds an output too."""

    bytes: int
    kind: str
    is_aliased: bool = False
    values: list[Value] = field(default_factory=list)


@dataclass
class Assignment:
    """allocations: in the main memory. ranges: {name: first and last place of the schedule that need it}; dumps of
    newer releases have none.
    """

    allocations: list[Allocation] = field(default_factory=list)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def buffers(self) -> Buffers:
        aliased = sum(one.bytes for one in self.allocations if one.is_aliased)
        output = self.of_kind(OUTPUT) + aliased
        return Buffers(
            self.of_kind(ARGUMENT), output, self.of_kind(TEMPORARY) + self.of_kind(CONSTANT), aliased
        )

    def of_kind(self, kind: str) -> int:
        return sum(one.bytes for one in self.allocations if one.kind == kind)

    def alive(self) -> Iterator[tuple[str, Value]]:
        """Yield (kind, value) of everything alive at the peak: the largest value of each allocation that stays during a
        call, then the temporaries at the peak.
        """
        for one in self.allocations:
            if one.kind != TEMPORARY and one.values:
                largest = max(one.values[::-1], key=lambda value: value.bytes)
                # The first value of an argument is the argument itself.
                yield one.kind, one.values[0] if one.kind == ARGUMENT else largest
        yield from ((TEMPORARY, value) for value in self.peak())

    def peak(self) -> list[Value]:
        """Return the temporaries at the moment when those alive have the most bytes, the largest first; of values that
        share memory, the largest.
        """
        values = [
            (number, value, live)
            for number, one in enumerate(self.allocations)
            if one.kind == TEMPORARY
            for value in sorted(one.values, key=lambda value: -value.bytes)
            if (live := self.ranges.get(value.name) or self.ranges.get(value.instruction))
        ]

        def alive(at: int) -> list[Value]:
            result: list[tuple[int, Value]] = []
            for number, value, (first, last) in values:
                if first <= at <= last:
                    end = value.offset + value.bytes
                    others = [other for place, other in result if place == number]
                    if not any(o.offset < end and value.offset < o.offset + o.bytes for o in others):
                        result.append((number, value))
            return sorted((value for _, value in result), key=lambda value: -value.bytes)

        starts = sorted({live[0] for _, _, live in values})
        return max(map(alive, starts), key=lambda found: sum(value.bytes for value in found), default=[])


def read(text: str) -> Assignment:
    result = Assignment()
    current: Allocation | None = None
    for line in text.splitlines():
        if found := _ALLOCATION.match(line):
            current = _allocation(int(found[1]), found[2])
            result.allocations += [current] if current else []
        elif current and (found := _VALUE.match(line)):
            current.values.append(Value(found[1], int(found[2]), int(found[3]), found[4]))
        elif found := _RANGE.match(line):
            result.ranges[found[1].removesuffix("{}")] = int(found[2]), int(found[3])
    return result


def _allocation(size: int, rest: str) -> Allocation | None:
    colour = _COLOUR.search(rest)
    # Values inside fused computations have no memory of their own; other colours are on the chip.
    if "thread-local" in rest or (colour and colour[1] != "0"):
        return None
    if "parameter" in rest:
        found = _PARAMETER.search(rest)
        values = [Value(f"argument {found[1]}", size, 0, found[2])] if found else []
        return Allocation(size, ARGUMENT, "maybe-live-out" in rest, values)
    kind = OUTPUT if "output" in rest else CONSTANT if "constant" in rest else TEMPORARY
    return Allocation(size, kind)
