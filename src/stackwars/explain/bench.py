"""Time programs side by side in a worker, and say how much of a gap each closes.

On the clock the low end of interleaved rounds is the time without other processes. Of a process's CPU time the
median is taken, because a thread pool's time is booked late and its low end is an artefact.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from stackwars.explain.evaluated import Evaluated
from stackwars.explain.graph import dtype, shape
from stackwars.explain.hybrids import Hybrids, Node, Part
from stackwars.explain.workers import Times, Worker
from stackwars.measure.log_ratio import LEVEL

WALL, CPU = "wall", "cpu"
LOW = 0.1
BLOCKS = 5
SINGLE_ERROR = 0.05
"""Error of a share from one round: such programs are slow, and what disturbs them averages out."""
LEAST_ROUNDS = 6
RESAMPLES = 400
CERTAIN, MORE_ROUNDS = 0.1, 2
"""Error of a share beyond which it is timed again, and how often at most."""
ROUNDS_S = 3.0
"""Seconds of calls that so many rounds of A and B may take: of slow programs there are fewer."""
Get = Callable[[int], np.ndarray]


class Share(NamedTuple):
    """The part of a gap that a program closes, and its standard error."""

    value: float
    error: float


def typical(times: Times, clock: str) -> float:
    """Return the time of a call in ns."""
    return float(_low(times.wall_ns if clock == WALL else times.cpu_ns, clock))


def blocks(times: Times, clock: str) -> np.ndarray:
    """Return the same of each of some successive blocks of rounds."""
    count = min(BLOCKS, len(times.wall_ns))
    parts = [np.array_split(values, count) for values in times]
    return np.array([typical(Times(*part), clock) for part in zip(*parts, strict=True)])


def share(a: Times, b: Times, tried: Times, clock: str) -> Share:
    """Return how much of the gap between A and B a program closes.

    Its error is half the range of the middle two thirds of what resampled rounds say.
    """
    values = np.array([getattr(times, f"{clock}_ns") for times in (a, b, tried)], dtype=float)
    ours, theirs, its = (_low(one, clock) for one in values)
    gap = float(ours - theirs)
    if not gap:
        return Share(math.nan, math.inf)
    rounds = values.shape[1]
    drawn = np.random.default_rng(0).integers(0, rounds, (RESAMPLES, rounds))
    again = [_low(one[drawn], clock) for one in values]
    with np.errstate(divide="ignore", invalid="ignore"):
        closed = (again[0] - again[2]) / (again[0] - again[1])
    low, high = np.nanquantile(closed, [1 / 6, 5 / 6])
    return Share(float((ours - its) / gap), float(high - low) / 2 if rounds > 1 else SINGLE_ERROR)


def _low(values: np.ndarray, clock: str) -> np.ndarray:
    return np.quantile(values, LOW, axis=-1) if clock == WALL else np.median(values, axis=-1)


def interval(closed: Sequence[float], gaps: Sequence[float]) -> tuple[float, float, float]:
    """Return (share, low, high): the ratio of two sums over fresh processes, with its 95 % interval.

    The interval is Student's, of the residuals closed - share * gap.
    """
    from scipy import special

    x, y = np.asarray(closed), np.asarray(gaps)
    value = float(x.sum() / y.sum()) if y.sum() else math.nan
    if len(x) < 2 or not y.sum():
        return value, -math.inf, math.inf
    error = float(np.std(x - value * y, ddof=1)) / math.sqrt(len(x)) / abs(float(y.mean()))
    half = float(special.stdtrit(len(x) - 1, (1 + LEVEL) / 2)) * error
    return value, value - half, value + half


@dataclass
class Arrays:
    """Gives programs their arguments: those of A and B, and values between operations.

    Equal arrays of both programs are one buffer.
    """

    types: tuple[Mapping[int, str], Mapping[int, str]]
    arguments: tuple[Mapping[int, Get], Mapping[int, Get]]
    evaluated: tuple[Evaluated, Evaluated] | None = None
    _keys: dict[Node, str] = field(default_factory=dict)

    def replace(self, side: int, arguments: Mapping[int, Get]) -> None:
        self.arguments = tuple(arguments if k == side else one for k, one in enumerate(self.arguments))
        self._keys = {node: key for node, key in self._keys.items() if node[0] != side}

    def place(self, worker: Worker, nodes: Iterable[Node]) -> list[str]:
        """Return the keys of these values on the worker's device."""
        return [self._placed(worker, node) for node in nodes]

    def get(self, node: Node) -> np.ndarray:
        side, value = node
        kind = self.types[side][value]
        given = self.arguments[side].get(value)
        array = given(0) if given else self.evaluated[side].array(value)
        return np.ascontiguousarray(array).astype(dtype(kind), copy=False).reshape(shape(kind))

    def _placed(self, worker: Worker, node: Node) -> str:
        if worker.has(self._keys.get(node, "")):
            return self._keys[node]
        array = self.get(node)
        digest = hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()
        self._keys[node] = f"{array.dtype}{array.shape}{digest}"
        return worker.put(self._keys[node], array)


@dataclass
class Bench:
    """Programs in one worker, timed against A and B. clock: WALL, or CPU on a busy machine."""

    worker: Worker
    arrays: Arrays
    clock: str = WALL
    least: int = LEAST_ROUNDS
    _kept: dict[str, tuple[str, tuple[Node, ...]]] = field(default_factory=dict)

    def load(self, name: str, text: str, arguments: Iterable[Node]) -> str:
        """Compile a program and give it its arguments; return its name."""
        arguments = tuple(arguments)
        if name in ("A", "B"):
            self._kept[name] = text, arguments
        self.worker.compile(name, text)
        self.worker.bind(name, self.arrays.place(self.worker, arguments))
        return name

    def restore(self) -> None:
        """Load A and B again, in a process that replaces one that crashed or hung."""
        for name, program in self._kept.items():
            self.load(name, *program)

    def load_part(self, name: str, part: Part) -> str:
        return self.load(name, part.text, part.arguments)

    def time(self, names: Sequence[str], seconds: float) -> dict[str, Times]:
        return self.worker.time(list(names), seconds, self.least)

    def swapped(self) -> Bench:
        """Return the same with A and B exchanged; they have to be loaded again."""
        arrays = Arrays(self.arrays.types[::-1], self.arrays.arguments[::-1])
        return Bench(self.worker, arrays, self.clock, self.least)

    def calibrate(self) -> None:
        """Choose the least number of rounds by the time of a call of A and of B."""
        times = self.worker.time(["A", "B"], 0, 1)
        seconds = sum(float(one.wall_ns[0]) for one in times.values()) / 1e9
        self.least = max(1, min(LEAST_ROUNDS, int(ROUNDS_S / seconds)))

    def measure_share(self, name: str, seconds: float) -> Share:
        """Return the share of the gap that a program closes; `A` and `B` are timed beside it."""
        names = ["A", "B", name]
        times = self.time(names, seconds)
        for attempt in range(1 + MORE_ROUNDS):
            found = share(*(times[one] for one in names), self.clock)
            if attempt == MORE_ROUNDS or found.error <= CERTAIN:
                break
            more = self.time(names, seconds)
            times = {one: Times(*map(np.concatenate, zip(times[one], more[one], strict=True))) for one in names}
        return found

    def hybrid_share(self, hybrids: Hybrids, flipped: Iterable[int], seconds: float) -> Share:
        """Return the share of the gap that a hybrid closes; the program is dropped."""
        self.load_part("hybrid", hybrids.hybrid(flipped))
        found = self.measure_share("hybrid", seconds)
        self.worker.drop("hybrid")
        return found
