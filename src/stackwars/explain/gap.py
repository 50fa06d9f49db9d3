"""Whether two programs compute one thing, whether there is a gap between them, and by which clock it is measured.

Programs without arguments.json may be given an argument with its axes in another order. Nothing in them says so if two
extents are equal: the results decide between the guesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations, product
from typing import Any

import numpy as np

from stackwars.explain.bench import CPU, WALL, Bench, Get, blocks, typical
from stackwars.explain.graph import Graph, element, shape
from stackwars.explain.hybrids import A, B
from stackwars.explain.matching import Class
from stackwars.explain.question import once
from stackwars.measure.log_ratio import Estimate, is_within

CAUSE, SPREAD, NOT_SEPARABLE = "cause", "spread", "not separable"
NO_GAP, DIFFERENT, FAILED = "no gap", "different values", "failed"
APART, REORDERED_APART = 1e-2, 1e-4
"""Relative difference of two results that no rounding explains, element by element and sorted. Sorted samples
of one distribution are close though they are different numbers."""
MOST_GUESSES, MOST_AXES = 32, 4
"""Guesses of the arguments' layouts that are tried, and axes of an argument whose order is guessed."""
Order = tuple[int, ...]


class Verdict(Exception):
    """Ends a search early. verdict: of the answer; detail: one sentence."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(detail)
        self.verdict, self.detail = verdict, detail


def choose_clock(times: dict[str, Any]) -> tuple[str, bool]:
    """Return the clock by which A against itself varies less than the gap, and whether neither does.

    A against itself: the range of successive blocks of its rounds. If neither does, the processor's time is
    the better one on a busy machine.
    """
    noise = {clock: max(float(np.ptp(blocks(times[name], clock))) for name in "AB") for clock in (WALL, CPU)}
    for clock in (WALL, CPU):
        if noise[clock] <= abs(typical(times["A"], clock) - typical(times["B"], clock)):
            return clock, False
    return (CPU if noise[CPU] < noise[WALL] / 2 else WALL), True


def gap_verdict(ratio: Estimate, bound: float) -> str | None:
    """Return why there is no gap to explain: none, or not separable from noise; None if there is one."""
    if is_within(ratio.low, ratio.high, bound):
        return NO_GAP
    if ratio.low > 1 or ratio.high < 1:
        return None
    return NO_GAP if is_within(ratio.low, ratio.high, 2 * bound) else NOT_SEPARABLE


def results_apart(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> str:
    """Return how the results of two programs differ by more than their layout and rounding; "" if they do
    not.
    """
    left = list(b)
    if len(a) != len(b):
        return ""  # The matching says which of them have a partner.
    for number, array in enumerate(a):
        place = next((k for k, other in enumerate(left) if _is_alike(array, other)), None)
        if place is None:
            return f"the programs do not compute one thing: result {number} of A has no equal in B"
        left.pop(place)
    return ""


def _is_alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays have about the same elements, or almost exactly in another order."""
    if a.size != b.size:
        return False
    if [n for n in a.shape if n > 1] == [n for n in b.shape if n > 1] and _is_near(
        a, b.reshape(a.shape), APART
    ):
        return True
    return _is_near(np.sort(a, axis=None), np.sort(b, axis=None), REORDERED_APART)


def _is_near(a: np.ndarray, b: np.ndarray, limit: float) -> bool:
    if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
        return np.array_equal(a, b)
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)):
        return False
    a, b = a[finite].astype(complex), b[finite].astype(complex)
    return bool(np.linalg.norm(a - b) <= limit * (np.linalg.norm(b) or 1.0))


def unmatched_results(classes: Sequence[Class], results: tuple[list[int], list[int]]) -> str:
    """Return which result of either program is not computed by the other; "" if each is."""
    for side in (A, B):
        for number, value in enumerate(results[side]):
            own = [one for one in classes if value in one.maps[side]]
            if not any(other in one.maps[1 - side] for one in own for other in results[1 - side]):
                return f"the programs do not compute one thing: result {number} of {'AB'[side]} has no equal"
    return ""


def gap_detail(verdict: str, ratio: Estimate) -> str:
    """Return a verdict of `gap_verdict` as a sentence."""
    if verdict == NOT_SEPARABLE:
        return f"not separable from noise on this machine: the ratio is {format_ratio(ratio)}"
    return f"no gap to explain: the ratio is {format_ratio(ratio)}"


def guesses(a: Graph, b: Graph) -> Iterator[list[Order]]:
    """Yield, for the arguments of B, the order of the axes of A's argument at the same place.

    The first guess leaves the arguments as they are where their shapes allow it. Yields nothing if the
    programs have arguments that no order of axes relates.
    """
    if len(a.arguments) != len(b.arguments):
        return
    pairs = [(a.types[x], b.types[y]) for x, y in zip(a.arguments, b.arguments, strict=True)]
    choices = [orders(shape(x), shape(y)) if element(x) == element(y) else [] for x, y in pairs]
    if all(choices):
        # The last argument that has a choice changes fastest.
        yield from (list(one) for one in islice(product(*choices), MOST_GUESSES))


def orders(source: tuple[int, ...], target: tuple[int, ...]) -> list[Order]:
    """Return the orders of axes that turn a shape into another: as it is, reversed, others."""
    straight = tuple(range(len(source)))
    if len(source) > MOST_AXES:
        return [straight] if source == target else []
    every = [order for order in permutations(straight) if tuple(source[axis] for axis in order) == target]
    return sorted(every, key=lambda order: (order != straight, order != straight[::-1]))


def moved(values: Sequence[Get], guess: Sequence[Order]) -> list[Get]:
    """Return the arguments of B by those of A and a guess."""
    return [_moved(get, order) for get, order in zip(values, guess, strict=True)]


def _moved(get: Get, order: Order) -> Get:
    def value(number: int) -> np.ndarray:
        return np.ascontiguousarray(get(number).transpose(order))

    return once(value) if getattr(get, "is_fixed", False) else value


def check_results(bench: Bench, graphs: tuple[Graph, Graph], is_plain: bool) -> None:
    """Raise Verdict if the programs' results differ; first guess the layouts of plain arguments.

    is_plain: no arguments.json tells them.
    """
    worker, arguments = bench.worker, bench.arrays.arguments
    expected = worker.run("A")
    apart = results_apart(expected, worker.run("B"))
    if apart and is_plain:
        for guess in guesses(*graphs):
            values = moved(list(arguments[A].values()), guess)
            bench.arrays.replace(B, dict(zip(graphs[B].arguments, values, strict=True)))
            worker.bind("B", bench.arrays.place(worker, [(B, value) for value in graphs[B].arguments]))
            if not (apart := results_apart(expected, worker.run("B"))):
                break
    if apart:
        raise Verdict(DIFFERENT, apart)


def format_ratio(ratio: Estimate) -> str:
    return f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"
