"""Search the smallest set of regions and argument layouts that closes the gap between two programs.

Regions timed alone rank the kinds: that is cheap and robust, but no account of the gap, because fusion
crosses their borders. Hybrids of the first kinds confirm the ranking, and the set is shrunk as long as it
closes enough. Fresh processes decide, because one process has one layout of memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from stackwars.explain.bench import CPU, WALL, Bench, Share, interval, typical
from stackwars.explain.hybrids import A, B, CyclicChoiceError, Hybrids, Kind, Node
from stackwars.explain.workers import CompilerSpec, Crashed, Refused, TimedOut, Worker
from stackwars.measure.log_ratio import Estimate, geometric_mean

ENOUGH = 0.8
"""Share of the gap that a cause closes."""
MOST_KINDS = 6
FIRST = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
PROCESSES = 5
UNAVAILABLE = (CyclicChoiceError, Refused, Crashed, TimedOut)
"""Why a program that a search made cannot be timed."""
Program = tuple[str, Sequence[Node]]
Say = Callable[[str], None]


class Row(NamedTuple):
    """A kind's regions timed alone: ns of one in A and in B, and their difference times its count."""

    kind: Kind
    a: float
    b: float
    difference: float


class Atom(NamedTuple):
    """Classes of one kind that are chosen together."""

    kind: Kind
    classes: tuple[int, ...]


@dataclass
class Outcome:
    """What a search found. atoms: the cause; dropped: what shrinking left out, the last one last."""

    atoms: list[Atom] = field(default_factory=list)
    dropped: list[list[Atom]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    most: float = 1.0
    """The share of the gap that A with all matched values from B closes."""
    curve: dict[int, float] = field(default_factory=dict)
    is_uncertain: bool = False
    """Whether a set that does not close enough may do so for all that the timing tells."""

    @property
    def kinds(self) -> int:
        return len({atom.kind.number for atom in self.atoms})

    @property
    def classes(self) -> list[int]:
        return [c for atom in self.atoms for c in atom.classes]


@dataclass
class Search:
    """One search. bench: has the programs `A` and `B`. end: time.monotonic() at which nothing new is begun."""

    bench: Bench
    hybrids: Hybrids
    seconds: float
    end: float
    say: Say

    def run(self) -> Outcome:
        result = Outcome()
        if found := self.closed([Atom(kind, kind.classes) for kind in self.hybrids.kinds]):
            result.most = found.value
            self.say(f"closed by A with all from B: {found.value:.0%}")
        result.rows = self.rank()
        result.atoms = self.layouts() or self.confirm(result)
        if result.atoms:
            self.shrink(result)
        return result

    def rank(self) -> list[Row]:
        """Return the kinds whose regions differ, timed alone, the largest difference first."""
        rows = []
        for kind in self.hybrids.kinds:
            if not kind.is_same and (row := self._alone(kind)):
                rows.append(row)
        rows.sort(key=lambda row: -row.difference)
        total = sum(row.difference for row in rows) / 1e6
        self.say(f"timed {len(rows)} kinds alone: differences sum to {total:.2f} ms")
        for row in [*rows[:5], *[row for row in rows[5:] if row.difference < 0][-3:]]:
            one = f"one {row.a / 1e6:.3f} against {row.b / 1e6:.3f} ms"
            self.say(f"  kind {row.kind.number} x{len(row.kind)}: {row.difference / 1e6:+.3f} ms; {one}")
        return rows

    def _alone(self, kind: Kind) -> Row | None:
        names = []
        try:
            for side in (A, B):
                part = self.hybrids.region(kind.classes[0], side)
                if part.ops:
                    names.append(self.bench.load_part(f"region {side}", part))
        except UNAVAILABLE as error:
            self._note(f"kind {kind.number} alone", error)
            return None
        if not names:
            return None
        times = self.bench.time(names, self.seconds / 3)
        self.bench.worker.drop(*names)
        a, b = (typical(times[n], self.bench.clock) if (n := f"region {s}") in times else 0.0 for s in (A, B))
        return Row(kind, a, b, (a - b) * len(kind))

    def layouts(self) -> list[Atom]:
        """Return all argument layouts that differ, if they close enough without any operation."""
        atoms = [Atom(kind, kind.classes) for kind in self.hybrids.kinds if kind.is_layout and not kind.is_same]
        found = self.closed(atoms) if atoms else None
        if found is None:
            return []
        self.say(f"closed by the layouts of all arguments: {found.value:.0%}, error {found.error:.0%}")
        return atoms if is_enough(found) else []

    def confirm(self, result: Outcome) -> list[Atom]:
        """Return the first kinds, with the layouts that they read, that close enough; fill the curve.

        The last try has all kinds: what is slower alone may be faster where it is fused.
        """
        rows, curve = result.rows, result.curve
        positive = sum(row.difference > 0 for row in rows)
        for count in sorted({n for n in FIRST if n <= positive} | {positive, len(rows)} - {0}):
            chosen = [one for row in rows[:count] for one in (row.kind, *self.hybrids.layouts_read(row.kind))]
            atoms = [Atom(kind, kind.classes) for kind in dict.fromkeys(chosen) if not kind.is_same]
            found = self.closed(atoms)
            if found is None:
                continue
            curve[count] = found.value
            self.say(
                f"closed by the {count} first of {len(rows)} kinds: {found.value:.0%}, error {found.error:.0%}"
            )
            if is_enough(found):
                return atoms
            result.is_uncertain |= found.value + 2 * found.error >= ENOUGH
            if self.is_late():
                break
        return []

    def closed(self, atoms: Sequence[Atom], seconds: float = 2.0) -> Share | None:
        """Return the share of the gap that A with these from B closes; None if there is no such program."""
        classes = [c for atom in atoms for c in atom.classes]
        try:
            return self.bench.hybrid_share(self.hybrids, classes, seconds * self.seconds)
        except UNAVAILABLE as error:
            self._note(f"hybrid of {len(atoms)} kinds", error)
            return None

    def _note(self, what: str, error: Exception) -> None:
        """Say why a program cannot be timed; the others have to be loaded again if the process ended."""
        self.say(f"{what}: {type(error).__name__}: {error}"[:300])
        if isinstance(error, (Crashed, TimedOut)):
            self.bench.restore()

    def shrink(self, result: Outcome) -> None:
        """Leave out what is not needed: all operations, all layouts, kind by kind, then readers of a layout.

        Of a family with many kinds, such as the kernels of a network, all are left out or none: the more of them are
        left out, the less a fresh process confirms, and the answer is one in any case.
        """
        operations = [atom for atom in result.atoms if not atom.kind.is_layout]
        layouts = [atom for atom in result.atoms if atom.kind.is_layout]
        families: dict[str, list[Atom]] = {}
        for atom in result.atoms:
            families.setdefault(self.hybrids.family(atom.kind), []).append(atom)
        many = [atoms for atoms in families.values() if len(atoms) > MOST_KINDS]
        few = [atom for atom in result.atoms if not any(atom in atoms for atoms in many)]
        for part in (operations, layouts, *([atom] for atom in reversed(few)), *many):
            self._leave_out(result, part)
        for atom in [atom for atom in result.atoms if atom in few]:
            if len(parts := self._by_reader(atom)) > 1:
                at = result.atoms.index(atom)
                result.atoms[at : at + 1] = parts
                for part in parts:
                    self._leave_out(result, [part])
        result.atoms = merged(result.atoms)

    def _leave_out(self, result: Outcome, part: Sequence[Atom]) -> None:
        gone = [atom for atom in part if atom in result.atoms]
        rest = [atom for atom in result.atoms if atom not in gone]
        if not gone or not rest or self.is_late():
            return
        found = self.closed(rest, 4.0)
        if found is None:
            return
        self.say(f"closed without {_described(gone)}: {found.value:.0%}, error {found.error:.0%}")
        if is_enough(found):
            result.atoms = rest
            result.dropped.append(gone)

    def _by_reader(self, atom: Atom) -> list[Atom]:
        """Return the classes of a layout by the kinds that read them."""
        if not atom.kind.is_layout:
            return [atom]
        groups: dict[frozenset[int], list[int]] = {}
        for c in atom.classes:
            groups.setdefault(self.hybrids.readers(c), []).append(c)
        return [Atom(atom.kind, tuple(classes)) for classes in groups.values()]

    def is_late(self) -> bool:
        return time.monotonic() > self.end


def merged(atoms: Sequence[Atom]) -> list[Atom]:
    """Return one atom of each kind."""
    classes: dict[int, tuple[Kind, list[int]]] = {}
    for atom in atoms:
        classes.setdefault(atom.kind.number, (atom.kind, []))[1].extend(atom.classes)
    return [Atom(kind, tuple(members)) for kind, members in classes.values()]


def is_enough(found: Share) -> bool:
    """Return whether a program closes enough of the gap, allowing for the error of the timing."""
    return found.value >= ENOUGH and found.value - found.error >= ENOUGH - 0.1


@dataclass(frozen=True)
class Retimed:
    """Times of programs in fresh processes: {program: ns in each process}, by one clock and by all."""

    by_clock: dict[str, dict[str, list[float]]]
    clock: str = WALL

    @property
    def times(self) -> dict[str, list[float]]:
        return self.by_clock[self.clock]

    def plus(self, other: Retimed) -> Retimed:
        """Return these times, and behind them those of the other's processes."""
        joined = {
            clock: {name: [*one, *other.by_clock[clock][name]] for name, one in times.items()}
            for clock, times in self.by_clock.items()
        }
        return replace(self, by_clock=joined)

    def by(self, clock: str) -> Retimed:
        return replace(self, clock=clock)

    def clearest(self, name: str) -> Retimed:
        """Return the same by the processor's time if a program's share has half the interval by it."""
        ours, other = (self.by(clock).closed(name) for clock in (self.clock, CPU))
        return self.by(CPU) if other[2] - other[1] < (ours[2] - ours[1]) / 2 else self

    def ratio(self) -> Estimate:
        return geometric_mean([a / b for a, b in zip(self.times["A"], self.times["B"], strict=True)])

    def closed(self, name: str) -> tuple[float, float, float]:
        """Return the share of the gap between A and B that a program closes, with its interval."""
        rows = list(zip(self.times["A"], self.times["B"], self.times[name], strict=True))
        return interval([(a - tried) / a for a, _, tried in rows], [(a - b) / a for a, b, _ in rows])


def retime(
    spec: CompilerSpec, limits: Mapping[str, Any], bench: Bench, programs: Mapping[str, Program], seconds: float
) -> Retimed:
    """Time programs interleaved in each of some fresh processes, with the arguments of a bench."""
    times: dict[str, dict[str, list[float]]] = {c: {name: [] for name in programs} for c in (WALL, CPU)}
    for _ in range(PROCESSES):
        with Worker(spec, **limits) as worker:
            fresh = Bench(worker, bench.arrays, bench.clock, bench.least)
            names = [fresh.load(name, *program) for name, program in programs.items()]
            for name, one in fresh.time(names, seconds).items():
                for each, lists in times.items():
                    lists[name].append(typical(one, each))
    return Retimed(times, bench.clock)


def _described(atoms: Sequence[Atom]) -> str:
    return ", ".join(f"kind {atom.kind.number} x{len(atom.classes)}" for atom in atoms)
