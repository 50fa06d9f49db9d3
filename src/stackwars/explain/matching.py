"""Match the values of two programs that are one tensor up to its layout.

Values with the same size, kind and moments are candidates, because moments do not depend on the order of the
elements. An axis map (reshape, transpose, reshape) has to turn one into the other on all elements of one set of
inputs, and then on those of a second set: values that agree on one set alone are different computations.
A class holds the values of A and of B that are one tensor; its first values are where both programs can be cut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from math import prod

import numpy as np

from stackwars.explain.evaluated import Evaluated

TOLERANCE = 1e-5
"""Of float64 values, relative to the largest: programs print constants with the digits of float32."""
SINGLE_TOLERANCE = 1e-3
"""Of values that are stored in less than float64."""
SAMPLE = 512
LINES = 50
"""Random lines that are tried per axis until all elements of one have a certain place."""
CERTAIN = 0.01
"""A place is certain if the nearest element is so much nearer than the second nearest."""
MOST_SORTED = 1 << 25
MOST_PERMUTED_AXES = 5
CANDIDATES = 4
"""First values of either program that are tried as the pair that starts a class."""


@dataclass(frozen=True)
class AxisMap:
    """Turn an array into another by a reshape to `refined`, a transpose to `order` and a reshape to `shape`."""

    refined: tuple[int, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @classmethod
    def reshape(cls, shape: tuple[int, ...]) -> AxisMap:
        return cls(shape, tuple(range(len(shape))), shape)

    @property
    def is_reshape(self) -> bool:
        return self.order == tuple(range(len(self.order)))

    def apply(self, array: np.ndarray) -> np.ndarray:
        return array.reshape(self.refined).transpose(self.order).reshape(self.shape)

    def places(self, targets: np.ndarray) -> np.ndarray:
        """Return the flat places in the source of these flat places in the target."""
        if self.is_reshape:
            return targets
        digits = np.unravel_index(targets, tuple(self.refined[axis] for axis in self.order))
        source = [digits[self.order.index(axis)] for axis in range(len(self.order))]
        return np.ravel_multi_index(source, self.refined)


@dataclass
class Class:
    """One tensor in both programs. first: the first value of A and of B that holds it. maps: {value of A: map
    from B's first value} and {value of B: map from A's first value}, for every value that holds it.
    """

    first: tuple[int, int]
    maps: tuple[dict[int, AxisMap], dict[int, AxisMap]]


def is_close(found: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether all elements agree: integers exactly, floats within the tolerance of the largest."""
    if expected.dtype.kind in "biu" or found.dtype.kind in "biu":
        return found.dtype.kind == expected.dtype.kind and np.array_equal(found, expected)
    is_double = min(found.dtype.itemsize, expected.dtype.itemsize) >= 8
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(expected)
        scale = np.abs(expected[finite]).max(initial=0.0)
        difference = np.abs(found - expected)
        # Infinities of one sign differ by not-a-number.
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        limit = (TOLERANCE if is_double else SINGLE_TOLERANCE) * scale
        return bool((same | (finite & (difference <= limit))).all())


class MapFinder:
    """Finds axis maps, and tries those again that it found for the same pair of shapes: layers repeat."""

    def __init__(self) -> None:
        self._known: dict[tuple, list[AxisMap]] = defaultdict(list)
        self._samples: dict[int, np.ndarray] = {}

    def find(self, source: np.ndarray, target: np.ndarray) -> AxisMap | None:
        """Return the map that turns source into target, verified on all elements; None if there is none."""
        if source.size != target.size or source.dtype.kind != target.dtype.kind:
            return None
        for guess in self._guesses(source.shape, target.shape):
            if self._is_right(guess, source, target):
                return self._remember(source, target, guess)
        if not 1 < source.size <= MOST_SORTED:
            return None
        found = map_by_order(source, target)
        if found is None or not self._is_right(found, source, target):
            return None
        return self._remember(source, target, found)

    def _remember(self, source: np.ndarray, target: np.ndarray, found: AxisMap) -> AxisMap:
        known = self._known[source.shape, target.shape]
        if found not in known:
            known.append(found)
        return found

    def _guesses(self, source: tuple[int, ...], target: tuple[int, ...]) -> Iterator[AxisMap]:
        yield AxisMap.reshape(target)
        yield from list(self._known[source, target])
        long = tuple(extent for extent in source if extent > 1)
        wanted = tuple(extent for extent in target if extent > 1)
        if 1 < len(long) <= MOST_PERMUTED_AXES and sorted(long) == sorted(wanted):
            for order in permutations(range(len(long))):
                if tuple(long[axis] for axis in order) == wanted:
                    yield AxisMap(long, order, target)

    def _is_right(self, guess: AxisMap, source: np.ndarray, target: np.ndarray) -> bool:
        """Compare a sample first: most guesses fail there, without a copy of a large array."""
        size = source.size
        if size > 2 * SAMPLE:
            if size not in self._samples:
                self._samples[size] = np.random.default_rng(0).integers(0, size, SAMPLE)
            at = self._samples[size]
            expected = target.reshape(-1)[at]
            if not is_close(source.reshape(-1)[guess.places(at)], expected):
                return False
        return is_close(guess.apply(source), target)


def map_by_order(source: np.ndarray, target: np.ndarray) -> AxisMap | None:
    """Find the map from the places of single values: along an axis of target they step through source.

    The steps along one axis are a mixed-radix sequence of strides; the strides of all axes, sorted, are the
    refined shape of source.
    """
    look_up = _lookup(source)
    generator = np.random.default_rng(0)
    factors: list[tuple[int, int]] = []  # (extent, stride in source), per axis of target, from slow to fast
    for axis, extent in enumerate(target.shape):
        if extent == 1:
            continue
        for _ in range(LINES):
            at: list = [int(generator.integers(n)) for n in target.shape]
            at[axis] = slice(None)
            line = look_up(np.asarray(target[tuple(at)]))
            found = None if line is None else mixed_radix(line - line[0])
            if found is not None:
                break
        else:
            return None
        factors += found
    order = sorted(range(len(factors)), key=lambda k: -factors[k][1])
    refined = tuple(factors[k][0] for k in order)
    if prod(refined) != source.size:
        return None
    return AxisMap(refined, tuple(order.index(k) for k in range(len(factors))), target.shape)


def _lookup(source: np.ndarray):
    """Return a function from values to their places in source; None of it if one has no certain place."""
    flat = np.asarray(source).reshape(-1)
    flat = flat.real if flat.dtype.kind == "c" else flat
    flat = flat.astype(np.float64 if flat.dtype.kind == "f" else np.int64)
    order = np.argsort(flat)
    ordered = flat[order]

    def look_up(values: np.ndarray) -> np.ndarray | None:
        values = (values.real if values.dtype.kind == "c" else values).astype(ordered.dtype)
        right = np.searchsorted(ordered, values)
        around = np.clip(right[:, None] + np.arange(-2, 2), 0, flat.size - 1)
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(ordered[around] - values[:, None]).astype(np.float64)
        # A place at an end appears twice.
        distance[:, 1:][around[:, 1:] == around[:, :-1]] = np.inf
        ranked = np.argsort(distance, axis=1)
        rows = np.arange(len(values))
        best, second = distance[rows, ranked[:, 0]], distance[rows, ranked[:, 1]]
        if not ((best <= CERTAIN * second) & (second > 0)).all():
            return None
        return order[around[rows, ranked[:, 0]]]

    return look_up


def mixed_radix(steps: np.ndarray) -> list[tuple[int, int]] | None:
    """Return [(extent, stride)], slow to fast, by which 0, 1, 2, ... becomes these steps; None if nothing
    does.
    """
    count, found, unit = len(steps), [], 1
    while unit < count:
        coarse = steps[::unit]
        extent = 1
        while extent < len(coarse) and coarse[extent] == extent * coarse[1]:
            extent += 1
        while len(coarse) % extent:
            extent -= 1
        if extent < 2:
            return None
        found.insert(0, (extent, int(coarse[1])))
        unit *= extent
    rest, digits = np.arange(count), np.zeros(count, dtype=np.int64)
    for extent, stride in reversed(found):
        digits += rest % extent * stride
        rest //= extent
    return found if np.array_equal(digits, steps) else None


def match(
    values: tuple[Evaluated, Evaluated],
    candidates: tuple[Iterable[int], Iterable[int]],
    results: tuple[list[int], list[int]],
) -> list[Class]:
    """Return the informative candidates of two programs that hold one tensor, and their results, whatever these
    hold, in the order of A.

    candidates: values in program order.
    """
    finder = MapFinder()
    useful = tuple(
        [v for v in dict.fromkeys(candidates[side]) if v in results[side] or values[side].is_informative(v)]
        for side in range(2)
    )
    classes = [one for group in _groups(values, useful) for one in _split(group, values, finder)]
    position = {v: i for i, v in enumerate(useful[0])}
    return sorted(classes, key=lambda one: position[one.first[0]])


def _groups(
    values: tuple[Evaluated, Evaluated], useful: tuple[list[int], list[int]]
) -> list[tuple[list[int], list[int]]]:
    """Return the values of A and of B by equal size, kind and moments; only groups with values of both."""
    known: dict[tuple, tuple[list[np.ndarray], list[tuple[list[int], list[int]]]]] = defaultdict(
        lambda: ([], [])
    )
    for side in range(2):
        for value in useful[side]:
            fingerprint = values[side].print(value)
            key, moments = (fingerprint["size"], fingerprint["kind"]), np.asarray(fingerprint["moments"])
            prints, groups = known[key]
            same = np.empty(0, int)
            if prints:
                table = np.asarray(prints)
                same = np.flatnonzero((np.abs(table - moments) <= TOLERANCE * (1e-3 + np.abs(table))).all(1))
            if not same.size:
                prints.append(moments)
                groups.append(([], []))
            groups[same[0] if same.size else -1][side].append(value)
    return [group for _, groups in known.values() for group in groups if all(group)]


def _split(
    group: tuple[list[int], list[int]], values: tuple[Evaluated, Evaluated], finder: MapFinder
) -> Iterator[Class]:
    """Find the classes of one group: values of equal moments may still be several tensors."""

    def mapped(side: int, source: int, target: int) -> AxisMap | None:
        """Return the map from the other side's source to this side's target, right on both sets of inputs."""
        arrays = [
            (values[1 - side].array(source, which), values[side].array(target, which)) for which in range(2)
        ]
        found = finder.find(*arrays[0])
        return found if found is not None and is_close(found.apply(arrays[1][0]), arrays[1][1]) else None

    left = tuple(list(members) for members in group)
    while all(left):
        pairs = ((a, b) for a in left[0][:CANDIDATES] for b in left[1][:CANDIDATES])
        first = next((pair for pair in pairs if mapped(0, pair[1], pair[0])), None)
        if first is None:
            break
        maps: tuple[dict, dict] = ({}, {})
        for side in range(2):
            for value in list(left[side]):
                if found := mapped(side, first[1 - side], value):
                    maps[side][value] = found
                    left[side].remove(value)
        if first[0] not in maps[0] or first[1] not in maps[1]:
            break
        yield Class((next(iter(maps[0])), next(iter(maps[1]))), maps)
