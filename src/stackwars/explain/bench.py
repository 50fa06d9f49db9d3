"""Time programs side by side in a worker, and say whether there is a gap and how much of it each closes.

On the clock the low end of interleaved rounds is the time without other processes. Of a process's CPU time the
median is taken, because a thread pool's time is booked late and its low end is an artefact.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stackwars.core import numbers
from stackwars.core.client import Times, Worker
from stackwars.core.evaluate import Evaluated, evaluate
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Argument, Graph, Program
from stackwars.core.ratio import LEVEL, Estimate, is_within
from stackwars.core.types import as_type
from stackwars.explain.answer import NO_GAP, NOT_SEPARABLE, Interval, Share
from stackwars.explain.hybrids import CutProgram, Node
from stackwars.explain.matching import Class, match
from stackwars.explain.task import digest

WALL, CPU = "wall", "cpu"
LEAST_ROUNDS = 6


class ClosedShare(NamedTuple):
    """The part of a gap that a program closes, and its standard error."""

    value: float
    error: float


class CallTime(NamedTuple):
    """ns of a call by each clock, see `robust_time`, and the mean of its CPU time."""

    wall: float
    cpu: float
    mean_cpu: float

    @classmethod
    def of(cls, times: Times) -> CallTime:
        return cls(robust_time(times, WALL), robust_time(times, CPU), float(np.mean(times.cpu_ns)))

    def by(self, clock: str) -> float:
        return self.wall if clock == WALL else self.cpu


def robust_time(times: Times, clock: str) -> float:
    """Return the time of a call in ns."""
    return float(_robust(times.wall_ns if clock == WALL else times.cpu_ns, clock))


def blocks(times: Times, clock: str) -> np.ndarray:
    """Return the time of a call in each of five successive blocks of rounds."""
    parts = [np.array_split(values, min(5, len(times.wall_ns))) for values in times]
    return np.array([robust_time(Times(*part), clock) for part in zip(*parts, strict=True)])


def share(a: Times, b: Times, tried: Times, clock: str) -> ClosedShare:
    """Return how much of the gap between A and B a program closes.

    Its error is half the range of the middle two thirds of what resampled rounds say.
    """
    values = np.array([getattr(times, f"{clock}_ns") for times in (a, b, tried)], dtype=float)
    time_a, time_b, time_tried = (_robust(rounds, clock) for rounds in values)
    gap = float(time_a - time_b)
    if not gap:
        return ClosedShare(math.nan, math.inf)
    rounds = values.shape[1]
    drawn = np.random.default_rng(0).integers(0, rounds, (400, rounds))
    again = [_robust(program[drawn], clock) for program in values]
    with np.errstate(divide="ignore", invalid="ignore"):
        closed = (again[0] - again[2]) / (again[0] - again[1])
    low, high = np.nanquantile(closed, [1 / 6, 5 / 6])
    # One round has no scatter: such programs are slow, and what disturbs them averages out.
    return ClosedShare(float((time_a - time_tried) / gap), float(high - low) / 2 if rounds > 1 else 0.05)


def _robust(values: np.ndarray, clock: str) -> np.ndarray:
    return np.quantile(values, 0.1, axis=-1) if clock == WALL else np.median(values, axis=-1)


def interval(closed: Sequence[float], gaps: Sequence[float]) -> Share:
    """Return the ratio of two sums over fresh processes, with its 95 % interval.

    The interval is Student's, of the residuals closed - share * gap.
    """
    from scipy import special

    x, y = np.asarray(closed), np.asarray(gaps)
    value = float(x.sum() / y.sum()) if y.sum() else math.nan
    if len(x) < 2 or not y.sum():
        return Share(value, -math.inf, math.inf)
    error = float(np.std(x - value * y, ddof=1)) / math.sqrt(len(x)) / abs(float(y.mean()))
    half = float(special.stdtrit(len(x) - 1, (1 + LEVEL) / 2)) * error
    return Share(value, value - half, value + half)


def format_share(found: Share) -> str:
    """Return a share in percent with its interval."""
    return numbers.percent(found.share) + numbers.percent_interval(found.low, found.high)


# The gap


def choose_clock(times: Mapping[str, Times]) -> tuple[str, bool]:
    """Return the clock by which A against itself varies less than the gap, and whether neither does.

    A against itself: the range of successive blocks of its rounds. If neither does, CPU time is the better clock on a
    busy machine.
    """
    noise = {clock: max(float(np.ptp(blocks(times[name], clock))) for name in "AB") for clock in (WALL, CPU)}
    for clock in (WALL, CPU):
        if noise[clock] <= abs(robust_time(times["A"], clock) - robust_time(times["B"], clock)):
            return clock, False
    return (CPU if noise[CPU] < noise[WALL] / 2 else WALL), True


def gap_verdict(ratio: Estimate, bound: float) -> str | None:
    """Return why there is no gap to explain: none, or not separable from noise; None if there is one.

    A gap under the bound is none, however certain it is.
    """
    if is_within(ratio.low, ratio.high, bound):
        return NO_GAP
    if ratio.low > 1 or ratio.high < 1:
        return NO_GAP if is_within(ratio.value, ratio.value, bound) else None
    return NO_GAP if is_within(ratio.low, ratio.high, 2 * bound) else NOT_SEPARABLE


def moved_gap(table: float | None, ratio: Interval | None) -> str:
    """Return both ratios of a gap, and why there are two, as the end of a sentence; "" if one serves.

    table: the ratio in the table; None if it is not known.
    """
    if table is None or ratio is None or ratio.low is None or ratio.low <= table <= ratio.high:
        return ""
    first, second = (numbers.ratio(value) for value in (table, ratio.value))
    within = f"{numbers.ratio(ratio.low)} to {numbers.ratio(ratio.high)}"
    why = "the table times a single process"
    return f"{first} in the table, {second} in fresh processes ({within}): {why}" if first != second else ""


def gap_detail(verdict: str, ratio: Estimate) -> str:
    """Return a verdict of `gap_verdict` as a sentence."""
    why = "not separable from noise on this machine" if verdict == NOT_SEPARABLE else "no gap to explain"
    return f"{why}: the ratio is {numbers.ratio_interval(*ratio)}"


# Programs in a worker


def arguments_of(program: Program, graph: Graph) -> dict[int, Argument]:
    """Return the arguments of a program by their values in its graph.

    :raises Failed: as an error of the harness, if it has others.
    """
    if len(graph.arguments) != len(program.arguments):
        counts = f"{len(graph.arguments)} arguments of {program.label}, got {len(program.arguments)}"
        raise Failed(Outcome(Status.ERROR, f"expected {counts}; fix: lower it again"))
    return dict(zip(graph.arguments, program.arguments, strict=True))


def matched(
    worker: Worker, graphs: tuple[Graph, Graph], arguments: Sequence[Mapping[int, Argument]], folder: Path
) -> tuple[tuple[Evaluated, Evaluated], list[Class]]:
    """Return all values of two programs, which are saved in a folder, and the classes of those that are one tensor.

    arguments: of each program, by their values.

    :raises Failed: if one of them cannot be evaluated.
    """
    found = []
    for side, graph in enumerate(graphs):
        values = folder / "AB"[side]
        values.mkdir()
        found.append(evaluate(worker, graph, [arguments[side][value] for value in graph.arguments], values))
    candidates, results = zip(*((list(graph.types), graph.results) for graph in graphs), strict=True)
    return tuple(found), match(tuple(found), candidates, results)


def content_key(array: np.ndarray) -> str:
    content = hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()
    return f"{array.dtype}{array.shape}{content}"


@dataclass
class Arrays:
    """Gives programs their arguments: those of A and B, and values between operations.

    Equal arrays of both programs are one buffer.
    """

    types: tuple[Mapping[int, str], Mapping[int, str]]
    arguments: tuple[Mapping[int, Argument], Mapping[int, Argument]]
    evaluated: tuple[Evaluated, Evaluated] | None = None
    _keys: dict[Node, str] = field(default_factory=dict)

    def replace(self, side: int, arguments: Mapping[int, Argument]) -> None:
        self.arguments = tuple(arguments if k == side else old for k, old in enumerate(self.arguments))
        self._keys = {node: key for node, key in self._keys.items() if node[0] != side}

    def place(self, worker: Worker, nodes: Iterable[Node]) -> list[str]:
        """Return the keys of these values on the worker's device."""
        return [key if worker.has(key := self.key(node)) else worker.put(key, self.get(node)) for node in nodes]

    def get(self, node: Node) -> np.ndarray:
        side, value = node
        argument = self.arguments[side].get(value)
        return as_type(argument(0) if argument else self.evaluated[side].array(value), self.types[side][value])

    def key(self, node: Node) -> str:
        if node not in self._keys:
            self._keys[node] = content_key(self.get(node))
        return self._keys[node]


@dataclass
class Bench:
    """Programs in one worker, timed against A and B. clock: WALL, or CPU on a busy machine."""

    worker: Worker
    arrays: Arrays
    clock: str = WALL
    least: int = LEAST_ROUNDS
    programs: dict[str, CutProgram] = field(default_factory=dict)
    """A and B."""

    def load(self, name: str, program: CutProgram) -> None:
        """Compile a program and give it its arguments."""
        if name in ("A", "B"):
            self.programs[name] = program
        self.worker.load(name, program.text)
        self.worker.bind(name, self.arrays.place(self.worker, program.arguments))

    def restore(self) -> None:
        """Load A and B again, in a process that replaces one that crashed or hung."""
        for name, program in self.programs.items():
            self.load(name, program)

    @property
    def identity(self) -> str:
        """Equal for benches with the same A and B, on the same arguments in the same compiler, by the same clock."""
        arguments = [self.arrays.key(node) for program in self.programs.values() for node in program.arguments]
        texts = {name: program.text for name, program in self.programs.items()}
        return digest(texts, arguments, self.worker.spec, self.clock)

    def time(self, names: Sequence[str], seconds: float) -> dict[str, Times]:
        return self.worker.time(list(names), seconds, self.least)

    def swapped(self) -> Bench:
        """Return the same with A and B exchanged."""
        arrays = Arrays(self.arrays.types[::-1], self.arrays.arguments[::-1])
        result = Bench(self.worker, arrays, self.clock, self.least)
        for name, program in zip("AB", (self.programs["B"], self.programs["A"]), strict=True):
            nodes = tuple((1 - side, value) for side, value in program.arguments)
            result.load(name, replace(program, arguments=nodes))
        return result

    def calibrate(self) -> None:
        """Choose the least number of rounds of A and B, so that slow programs take three seconds."""
        times = self.worker.time(["A", "B"], 0, 1)
        seconds = sum(float(rounds.wall_ns[0]) for rounds in times.values()) / 1e9
        self.least = max(1, min(LEAST_ROUNDS, int(3.0 / seconds)))

    def hybrid_share(self, hybrid: CutProgram, seconds: float) -> ClosedShare:
        """Return the share of the gap that a hybrid closes, timed beside A and B; the program is dropped."""
        names = ["A", "B", "hybrid"]
        times: dict[str, list[Times]] = {name: [] for name in names}
        self.load("hybrid", hybrid)
        # An uncertain share is timed again, twice at most.
        for _ in range(3):
            for name, found in self.time(names, seconds).items():
                times[name].append(found)
            a, b, tried = (Times(*map(np.concatenate, zip(*times[name], strict=True))) for name in names)
            result = share(a, b, tried, self.clock)
            if result.error <= 0.1:
                break
        self.worker.drop("hybrid")
        return result

    def alone(self, parts: Sequence[CutProgram], seconds: float) -> list[CallTime | None]:
        """Return the time of a region in A and in B, interleaved; None of a side that does nothing."""
        names = [f"region {side}" for side, part in enumerate(parts) if part.ops]
        for side, part in enumerate(parts):
            if part.ops:
                self.load(f"region {side}", part)
        times = self.time(names, seconds) if names else {}
        self.worker.drop(*names)
        return [CallTime.of(times[f"region {side}"]) if part.ops else None for side, part in enumerate(parts)]
