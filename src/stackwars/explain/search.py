"""Search the smallest set of regions and argument layouts that closes the gap between two programs.

Regions timed alone rank the kinds: that is cheap and robust, but no account of the gap, because fusion
crosses their borders. Hybrids of the first kinds confirm the ranking, and the set is shrunk as long as it
closes enough. Fresh processes decide, because one process has one layout of memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

from stackwars.core.client import Worker
from stackwars.core.numbers import milliseconds, percent
from stackwars.core.outcome import Failed
from stackwars.core.ratio import Estimate, geometric_mean
from stackwars.explain.answer import Share
from stackwars.explain.bench import CPU, WALL, Bench, CallTime, ClosedShare, interval
from stackwars.explain.hybrids import A, B, CutProgram, CyclicChoiceError, Hybrids, RegionKind
from stackwars.explain.task import Kept, digest

ENOUGH = 0.8
"""Share of the gap that a cause closes."""
MOST_SHARE = 1.1
"""A larger share of a gap is an inconsistency."""
MOST_KINDS = 6
"""Kinds that are a cause; more of them are a gap that is spread."""


class KindTime(NamedTuple):
    """A kind's regions timed alone: ns of one in A and in B, and their difference times its count."""

    kind: RegionKind
    a: float
    b: float
    difference: float


class Choice(NamedTuple):
    """Classes of one kind that are chosen together."""

    kind: RegionKind
    classes: tuple[int, ...]


@dataclass
class Findings:
    """Results of a search.

    choices: the cause. dropped: what shrinking left out, the last one last. most: the share of the gap that A with all
    matched values from B closes. curve: {number of first kinds: the share that they close}. is_uncertain: whether a set
    that does not close enough may do so for all that the timing tells.
    """

    choices: list[Choice] = field(default_factory=list)
    dropped: list[list[Choice]] = field(default_factory=list)
    alone: list[KindTime] = field(default_factory=list)
    most: float = 1.0
    curve: dict[int, float] = field(default_factory=dict)
    is_uncertain: bool = False

    @property
    def kinds(self) -> int:
        return len({choice.kind.number for choice in self.choices})

    @property
    def classes(self) -> list[int]:
        return [c for choice in self.choices for c in choice.classes]


@dataclass
class Search:
    """One search. bench: has the programs A and B. end: time.monotonic() at which nothing new is begun.

    kept: measurements of hybrids and regions that are not taken again.
    """

    bench: Bench
    hybrids: Hybrids
    seconds: float
    end: float
    say: Callable[[str], None]
    kept: Kept = field(default_factory=Kept)

    def run(self) -> Findings:
        result = Findings()
        if found := self.closed([Choice(kind, kind.classes) for kind in self.hybrids.kinds]):
            result.most = found.value
            self.say(f"closed by A with all from B: {percent(found.value)}")
        result.alone = self.rank()
        result.choices = self.layouts() or self.confirm(result)
        if result.choices:
            self.shrink(result)
        return result

    def rank(self) -> list[KindTime]:
        """Return the kinds whose regions differ, timed alone, the largest difference first."""
        rows = [row for kind in self.hybrids.kinds if not kind.is_same and (row := self._rank(kind))]
        rows.sort(key=lambda row: -row.difference)
        total = sum(row.difference for row in rows) / 1e6
        self.say(f"timed {len(rows)} kinds alone: differences sum to {milliseconds(total)} ms")
        for row in [*rows[:5], *[row for row in rows[5:] if row.difference < 0][-3:]]:
            a, b, difference = (milliseconds(ns / 1e6) for ns in row[1:])
            self.say(f"  kind {row.kind.number} x{len(row.kind)}: {difference} ms; one {a} against {b} ms")
        return rows

    def _rank(self, kind: RegionKind) -> KindTime | None:
        parts = [self.hybrids.region(kind.classes[0], side) for side in (A, B)]
        times = self.alone(parts, self.seconds / 3)
        if not times or not any(times):
            return None
        a, b = (found.by(self.bench.clock) if found else 0.0 for found in times)
        return KindTime(kind, a, b, (a - b) * len(kind))

    def alone(self, parts: Sequence[CutProgram], seconds: float) -> list[CallTime | None] | None:
        """Return the times of a region in A and in B, None if it does nothing there; None if they cannot be timed."""
        key = digest("alone", self.bench.identity, _identities(parts), seconds)
        try:
            times = self.kept.once(key, lambda: self.bench.alone(parts, seconds))
        except Failed as error:
            self._note("a region alone", error)
            return None
        return [found and CallTime(*found) for found in times]

    def layouts(self) -> list[Choice]:
        """Return all argument layouts that differ, if they close enough without any operation."""
        choices = [
            Choice(kind, kind.classes) for kind in self.hybrids.kinds if kind.is_layout and not kind.is_same
        ]
        found = self.closed(choices) if choices else None
        if found is None:
            return []
        self.say(f"closed by the layouts of all arguments: {_format(found)}")
        return choices if self.is_closed(found) else []

    def confirm(self, result: Findings) -> list[Choice]:
        """Return the first kinds, with the layouts that they read, that close enough; fill the curve.

        The last try has all kinds: what is slower alone may be faster where it is fused.
        """
        rows = result.alone
        positive = sum(row.difference > 0 for row in rows)
        # Every number at first, then half as many again: a set that is too large is shrunk anyway.
        first = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
        for number in sorted({n for n in first if n <= positive} | {positive, len(rows)} - {0}):
            chosen = [
                kind for row in rows[:number] for kind in (row.kind, *self.hybrids.layouts_read(row.kind))
            ]
            choices = [Choice(kind, kind.classes) for kind in dict.fromkeys(chosen) if not kind.is_same]
            found = self.closed(choices)
            if found is None:
                continue
            result.curve[number] = found.value
            self.say(f"closed by the {number} first of {len(rows)} kinds: {_format(found)}")
            if self.is_closed(found):
                return choices
            result.is_uncertain |= found.value + 2 * found.error >= ENOUGH
            if self.out_of_time():
                break
        return []

    def closed(self, choices: Sequence[Choice], seconds: float = 2.0) -> ClosedShare | None:
        """Return the share of the gap that A with these from B closes; None if there is no such program."""
        try:
            hybrid = self.hybrids.hybrid(c for choice in choices for c in choice.classes)
            return self.share(hybrid, seconds * self.seconds)
        except (CyclicChoiceError, Failed) as error:
            self._note(f"hybrid of {len(choices)} kinds", error)
            return None

    def share(self, hybrid: CutProgram, seconds: float) -> ClosedShare:
        """Return the share of the gap that a hybrid closes.

        :raises Failed: if the compiler does not take it.
        """
        key = digest("share", self.bench.identity, _identities([hybrid]), seconds)
        return ClosedShare(*self.kept.once(key, lambda: self.bench.hybrid_share(hybrid, seconds)))

    def is_closed(self, found: ClosedShare) -> bool:
        """Return whether a hybrid closes enough of the gap, allowing for the error of the timing."""
        return found.value >= ENOUGH and found.value - found.error >= ENOUGH - 0.1

    def _note(self, what: str, error: CyclicChoiceError | Failed) -> None:
        """Say why a program cannot be timed; A and B have to be loaded again if the process ended."""
        self.say(f"{what}: {error}"[:300])
        if isinstance(error, Failed) and not self.bench.worker.is_running:
            self.bench.restore()

    def shrink(self, result: Findings) -> None:
        """Leave out what is not needed: all operations, all layouts, kind by kind, then readers of a layout.

        All kinds of a family with many, such as the kernels of a network, are left out or none: the more of them are
        left out, the less a fresh process confirms, and the answer is one in any case.
        """
        operations = [choice for choice in result.choices if not choice.kind.is_layout]
        layouts = [choice for choice in result.choices if choice.kind.is_layout]
        families: dict[str, list[Choice]] = {}
        for choice in result.choices:
            families.setdefault(self.hybrids.family(choice.kind), []).append(choice)
        many = [choices for choices in families.values() if len(choices) > MOST_KINDS]
        few = [choice for choice in result.choices if not any(choice in choices for choices in many)]
        # The largest steps first. All operations: a layout that closes the gap by itself is the simpler cause, though
        # the regions that read it led to it. Then single kinds from the last, which closed least alone, so that a kind
        # is not left out because a lesser one happens to make up for it.
        for group in (operations, layouts, *([choice] for choice in reversed(few)), *many):
            self._leave_out(result, group)
        # A layout of a tensor with several readers, such as an embedding that is also the last layer's weight, is
        # often needed for one of them.
        for choice in [choice for choice in result.choices if choice in few]:
            if len(parts := self._by_reader(choice)) > 1:
                at = result.choices.index(choice)
                result.choices[at : at + 1] = parts
                for part in parts:
                    self._leave_out(result, [part])
        result.choices = merged(result.choices)

    def _leave_out(self, result: Findings, group: Sequence[Choice]) -> None:
        """Leave a group out of the cause if the rest closes enough."""
        gone = [choice for choice in group if choice in result.choices]
        rest = [choice for choice in result.choices if choice not in gone]
        if not gone or not rest or self.out_of_time():
            return
        # Timed twice as long as a set that is only tried: an error here makes the answer wrong, not late. What is left
        # out is remembered, because fresh processes may want it back.
        found = self.closed(rest, 4.0)
        if found is None:
            return
        names = ", ".join(f"kind {choice.kind.number} x{len(choice.classes)}" for choice in gone)
        self.say(f"closed without {names}: {_format(found)}")
        if self.is_closed(found):
            result.choices = rest
            result.dropped.append(gone)

    def _by_reader(self, choice: Choice) -> list[Choice]:
        """Return the classes of a layout by the kinds that read them."""
        # All weights of one shape are one kind of layout. Those that the same kinds read do the same thing in the
        # program and stay together; others may be needless.
        if not choice.kind.is_layout:
            return [choice]
        groups: dict[frozenset[int], list[int]] = {}
        for c in choice.classes:
            groups.setdefault(self.hybrids.readers(c), []).append(c)
        return [Choice(choice.kind, tuple(classes)) for classes in groups.values()]

    def out_of_time(self) -> bool:
        return time.monotonic() > self.end


@dataclass
class CostSearch(Search):
    """A search by the costs of programs: a hybrid is compiled and its cost is read, and no call is timed.

    ends: costs of A and of B. error: standard error of a share.
    """

    ends: tuple[float, float] = (0, 0)
    error: float = 0.0

    def cost(self, program: CutProgram) -> float:
        """Return the cost of a program.

        :raises Failed: if the compiler does not take it.
        """
        raise NotImplementedError

    def difference(self, kind: RegionKind, parts: Sequence[CutProgram]) -> tuple[float, float, float]:
        """Return the cost of one region alone in A and in B, and the difference that ranks the kind."""
        a, b = (self.cost(part) if part.ops else 0 for part in parts)
        return a, b, a - b

    def rank(self) -> list[KindTime]:
        """Return the kinds whose regions differ, by the cost of one alone, the largest difference first."""
        rows = [row for kind in self.hybrids.kinds if not kind.is_same and (row := self._rank(kind))]
        return sorted(rows, key=lambda row: -row.difference)

    def _rank(self, kind: RegionKind) -> KindTime | None:
        parts = [self.hybrids.region(kind.classes[0], side) for side in (A, B)]
        try:
            row = KindTime(kind, *self.difference(kind, parts))
        except Failed as error:
            self._note("a region alone", error)
            return None
        return row if row.a or row.b else None

    def alone(self, parts: Sequence[CutProgram], seconds: float) -> None:
        """Return no times."""

    def share(self, hybrid: CutProgram, seconds: float = 0) -> ClosedShare:
        a, b = self.ends
        return ClosedShare((a - self.cost(hybrid)) / (a - b), self.error)

    def is_closed(self, found: ClosedShare) -> bool:
        # A region that costs less in A makes up for another: the gap is closed by both, not by the other alone.
        return super().is_closed(found) and found.value - found.error <= MOST_SHARE


def merged(choices: Sequence[Choice]) -> list[Choice]:
    """Return one choice of each kind."""
    classes: dict[int, tuple[RegionKind, list[int]]] = {}
    for choice in choices:
        classes.setdefault(choice.kind.number, (choice.kind, []))[1].extend(choice.classes)
    return [Choice(kind, tuple(members)) for kind, members in classes.values()]


def _format(found: ClosedShare) -> str:
    return f"{percent(found.value)}, error {percent(found.error)}"


def _identities(programs: Sequence[CutProgram]) -> list[Any]:
    """Return what tells programs apart whose A and B are the same."""
    return [(program.text, program.arguments) for program in programs]


@dataclass(frozen=True)
class Retimed:
    """Times of programs by name in each of some fresh processes, read by one clock."""

    processes: list[dict[str, CallTime]]
    clock: str = WALL

    def times(self, name: str) -> list[float]:
        """Return the ns of a program in each process."""
        return [process[name].by(self.clock) for process in self.processes]

    def by(self, clock: str) -> Retimed:
        return replace(self, clock=clock)

    def clearest(self, name: str) -> Retimed:
        """Return the same by CPU time if a program's share has half the interval by it."""
        by_this, by_cpu = (self.by(clock).closed(name) for clock in (self.clock, CPU))
        return self.by(CPU) if by_cpu.high - by_cpu.low < (by_this.high - by_this.low) / 2 else self

    def ratio(self) -> Estimate:
        return geometric_mean([a / b for a, b in zip(self.times("A"), self.times("B"), strict=True)])

    def closed(self, name: str) -> Share:
        """Return the share of the gap between A and B that a program closes, with its interval."""
        rows = list(zip(*map(self.times, ("A", "B", name)), strict=True))
        return interval([(a - tried) / a for a, _, tried in rows], [(a - b) / a for a, b, _ in rows])


def retime(
    bench: Bench, programs: Mapping[str, CutProgram], seconds: float, limits: Mapping[str, Any], kept: Kept
) -> Iterator[dict[str, CallTime]]:
    """Yield the times of programs, interleaved, in one fresh process after another, with the arguments of a bench.

    limits: of the workers. kept: has the times of processes that are not started again.
    """

    def measure() -> list[CallTime]:
        with Worker(bench.worker.spec, **limits) as worker:
            fresh = Bench(worker, bench.arrays, bench.clock, bench.least)
            for name, program in programs.items():
                fresh.load(name, program)
            return [CallTime.of(times) for times in fresh.time([*programs], seconds).values()]

    for number in count():
        key = digest("fresh", bench.identity, _identities([*programs.values()]), seconds, number)
        yield {name: CallTime(*found) for name, found in zip(programs, kept.once(key, measure), strict=True)}
