"""Match the values of two programs that are one tensor up to its layout.

Values with the same size, kind and moments are candidates, because moments do not depend on the order of the
elements. An axis map (reshape, transpose, reshape) has to turn one into the other on all elements of one set of
inputs, and then on those of a second set: values that agree on one set alone are different computations.
A class holds the values of A and of B that are one tensor; its first values are where both programs can be cut.

Results are compared before that, by the programs as they are compiled. A program whose arguments nothing describes may
take one with its axes in another order, which its shapes do not tell if two extents are equal: the results decide
between the guesses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import prod

import numpy as np

from stackwars.core.compilers import INPUT_SETS
from stackwars.core.evaluate import Evaluated
from stackwars.core.judge import errors
from stackwars.core.program import Argument, Graph
from stackwars.core.types import element, plain, shape

TOLERANCE = 1e-5
"""Tolerance of float64 values, relative to the largest: programs print constants with the digits of float32."""
SAMPLE = 512
"""Elements that are compared before all are."""
Order = tuple[int, ...]


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

    def moved(self, array: np.ndarray) -> np.ndarray:
        """Return the elements in their new order, as a view of a contiguous array."""
        return array.reshape(self.refined).transpose(self.order)

    def apply(self, array: np.ndarray) -> np.ndarray:
        return self.moved(array).reshape(self.shape)

    def resized(self, source: tuple[int, ...], larger: tuple[int, ...], target: tuple[int, ...]) -> AxisMap:
        """Return the map to a target of another shape, from a source whose shape `source` becomes `larger`.

        :raises ValueError: if the shapes of the source differ in several axes, or in a part of a refined axis.
        """
        if self.is_reshape:
            return AxisMap.reshape(target)
        axes = [axis for axis, (old, new) in enumerate(zip(source, larger, strict=True)) if old != new]
        refined = list(self.refined)
        if len(axes) == 1:
            # The outermost part of the axis grows: a batch is never inside of what it is flattened with.
            before = prod(source[: axes[0]])
            place = next((k for k in range(len(refined)) if prod(refined[: k + 1]) > before), 0)
            refined[place] = refined[place] * larger[axes[0]] // source[axes[0]]
        if len(axes) > 1 or prod(refined) != prod(larger):
            raise ValueError(f"the layout of {source} in {self.shape} has no form at {larger}")
        return AxisMap(tuple(refined), self.order, target)


@dataclass
class Class:
    """One tensor in both programs. first: the first value of A and of B that holds it. maps: {value of A: map
    from B's first value} and {value of B: map from A's first value}, for every value that holds it.
    """

    first: tuple[int, int]
    maps: tuple[dict[int, AxisMap], dict[int, AxisMap]]


def is_close(found: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether all elements agree: integers exactly, floats within a tolerance of the largest."""
    if found.dtype.kind != expected.dtype.kind and {found.dtype.kind, expected.dtype.kind} & set("biu"):
        return False
    is_double = min(found.dtype.itemsize, expected.dtype.itemsize) >= 8
    # By the largest error alone: a relative L2 error says nothing if one element is far larger than the others.
    limit = TOLERANCE if is_double else 1e-3
    return errors(found, expected, limit)[2] <= limit


class MapFinder:
    """Finds axis maps, and tries those again that it found for the same pair of shapes: layers repeat."""

    def __init__(self) -> None:
        self._known: dict[tuple, list[AxisMap]] = defaultdict(list)

    def find(self, source: np.ndarray, target: np.ndarray) -> AxisMap | None:
        """Return the map that turns source into target, verified on all elements; None if there is none."""
        if source.size != target.size or source.dtype.kind != target.dtype.kind:
            return None
        tried = self._guesses(source.shape, target.shape)
        found = next((guess for guess in tried if self._is_right(guess, source, target)), None)
        # More elements take minutes to sort.
        if found is None and 1 < source.size <= 1 << 25:
            found = map_by_order(source, target)
            found = found if found is not None and self._is_right(found, source, target) else None
        known = self._known[source.shape, target.shape]
        if found is not None and found not in known:
            known.append(found)
        return found

    def _guesses(self, source: tuple[int, ...], target: tuple[int, ...]) -> Iterator[AxisMap]:
        yield AxisMap.reshape(target)
        yield from list(self._known[source, target])
        long = tuple(extent for extent in source if extent > 1)
        wanted = tuple(extent for extent in target if extent > 1)
        # Of six axes there are 720 orders.
        if 1 < len(long) <= 5 and sorted(long) == sorted(wanted):
            for order in permutations(range(len(long))):
                if tuple(long[axis] for axis in order) == wanted:
                    yield AxisMap(long, order, target)

    def _is_right(self, guess: AxisMap, source: np.ndarray, target: np.ndarray) -> bool:
        """Compare a sample first: most guesses fail there, without a copy of a large array."""
        if source.size > 2 * SAMPLE:
            at, moved = np.random.default_rng(0).integers(0, source.size, SAMPLE), guess.moved(source)
            if not is_close(moved[np.unravel_index(at, moved.shape)], target.reshape(-1)[at]):
                return False
        return is_close(guess.apply(source), target)


def map_by_order(source: np.ndarray, target: np.ndarray) -> AxisMap | None:
    """Find the map from the places of single values: along an axis of target they step through source."""
    look_up = _lookup(source)
    generator = np.random.default_rng(0)
    # A reshape, a transpose and a reshape are a sum of strides: the place in source is the sum over the axes of target
    # of what that axis adds, whatever the other coordinates are. One line along each axis therefore tells the map.
    factors: list[tuple[int, int]] = []  # (extent, stride in source), per axis of target, from slow to fast
    for axis, extent in enumerate(target.shape):
        if extent == 1:
            continue
        for _ in range(50):
            at: list = [int(generator.integers(n)) for n in target.shape]
            at[axis] = slice(None)
            places = look_up(np.asarray(target[tuple(at)]))
            # A line through equal values, such as padding, has no certain places: another one may.
            found = None if places is None else mixed_radix(places - places[0])
            if found is not None:
                break
        else:
            return None
        factors += found
    # The strides of a row-major array decrease, so the factors by falling stride are the refined axes of source. Their
    # ranks, read in the order of target, are the transpose.
    order = sorted(range(len(factors)), key=lambda k: -factors[k][1])
    refined = tuple(factors[k][0] for k in order)
    # Factors whose extents do not cover the array are a broadcast or a coincidence.
    if prod(refined) != source.size:
        return None
    return AxisMap(refined, tuple(order.index(k) for k in range(len(factors))), target.shape)


def _lookup(source: np.ndarray) -> Callable[[np.ndarray], np.ndarray | None]:
    """Return a function from values to their places in source; None if one has no certain place."""
    flat = np.asarray(source).reshape(-1)
    flat = flat.real if flat.dtype.kind == "c" else flat
    flat = flat.astype(np.float64 if flat.dtype.kind == "f" else np.int64)
    order = np.argsort(flat)
    ordered = flat[order]

    def look_up(values: np.ndarray) -> np.ndarray | None:
        values = (values.real if values.dtype.kind == "c" else values).astype(ordered.dtype)
        right = np.searchsorted(ordered, values)
        # The two nearest elements are among two on either side.
        around = np.clip(right[:, None] + np.arange(-2, 2), 0, flat.size - 1)
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(ordered[around] - values[:, None]).astype(np.float64)
        # A place at an end appears twice.
        distance[:, 1:][around[:, 1:] == around[:, :-1]] = np.inf
        ranked = np.argsort(distance, axis=1)
        rows = np.arange(len(values))
        best, second = distance[rows, ranked[:, 0]], distance[rows, ranked[:, 1]]
        # A place is certain if the second nearest element is a hundred times as far away.
        if not ((best <= 0.01 * second) & (second > 0)).all():
            return None
        return order[around[rows, ranked[:, 0]]]

    return look_up


def mixed_radix(steps: np.ndarray) -> list[tuple[int, int]] | None:
    """Return [(extent, stride)], slow to fast, by which 0, 1, 2, ... becomes these steps; None if nothing does."""
    # The fastest digit counts 0, s, 2s, ... until it overflows, which the next digit does in turn with every `unit`-th
    # step: so digits are read from the fast end, each from the steps at which all faster digits are 0.
    count, found, unit = len(steps), [], 1
    while unit < count:
        coarse = steps[::unit]
        extent = 1
        while extent < len(coarse) and coarse[extent] == extent * coarse[1]:
            extent += 1
        # The count may run on by chance into the next digit, whose stride then continues this one; the extent has to
        # divide what is left.
        while len(coarse) % extent:
            extent -= 1
        if extent < 2:
            return None
        found.insert(0, (extent, int(coarse[1])))
        unit *= extent
    # Each digit was read from one run of steps alone: rebuild all of them.
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
    classes = [found for group in _groups(values, useful) for found in _split(group, values, finder)]
    position = {v: i for i, v in enumerate(useful[0])}
    return sorted(classes, key=lambda found: position[found.first[0]])


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
                # Moments of values that are hardly finite are infinite, and those differ by not-a-number.
                with np.errstate(invalid="ignore"):
                    is_near = np.abs(table - moments) <= TOLERANCE * (1e-3 + np.abs(table))
                same = np.flatnonzero(is_near.all(1))
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
            (plain(values[1 - side].array(source, which)), plain(values[side].array(target, which)))
            for which in range(INPUT_SETS)
        ]
        found = finder.find(*arrays[0])
        return found if found is not None and is_close(found.apply(arrays[1][0]), arrays[1][1]) else None

    left = tuple(list(members) for members in group)
    while all(left):
        # Four candidates of either program: the first value of one need not be in the class of the other's.
        pairs = ((a, b) for a in left[0][:4] for b in left[1][:4])
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


def resized(classes: Sequence[Class], graphs: tuple[Graph, Graph], larger: tuple[Graph, Graph]) -> list[Class]:
    """Return the classes of two programs at other sizes. graphs: of both programs at the sizes of the classes.

    :raises ValueError: if a program has other operations at the other sizes, or a layout no form there.
    """
    for graph, other in zip(graphs, larger, strict=True):
        one, two = ([(op.name, op.reads, op.results) for op in each.ops] for each in (graph, other))
        if (one, graph.results) != (two, other.results):
            raise ValueError(f"a program has {len(one)} operations, and {len(two)} others at the other sizes")

    def moved(side: int, source: int, value: int, found: AxisMap) -> AxisMap:
        shapes = (shape(graph.types[source]) for graph in (graphs[1 - side], larger[1 - side]))
        return found.resized(*shapes, shape(larger[side].types[value]))

    return [
        Class(
            one.first,
            tuple(
                {value: moved(side, one.first[1 - side], value, found) for value, found in maps.items()}
                for side, maps in enumerate(one.maps)
            ),
        )
        for one in classes
    ]


MOVES = {f"stablehlo.{name}" for name in ("transpose", "reshape", "broadcast_in_dim", "convert")}
"""Operations whose result is their operand in another layout, whatever the inputs are."""


def without_coincidences(classes: Sequence[Class], graphs: tuple[Graph, Graph]) -> list[Class]:
    """Return the classes without values that a program computes from others of the class; [] if there are none.

    Such a value, as of an index that is made positive, equals the others on these inputs alone: a cut there leaves
    out what computes it.
    """
    result, count = [], 0
    for found in classes:
        maps = tuple(_certain(graphs[side], found.maps[side], found.first[side]) for side in range(2))
        count += sum(len(old) - len(new) for old, new in zip(found.maps, maps, strict=True))
        result.append(Class(found.first, maps))
    return result if count else []


def _certain(graph: Graph, members: dict[int, AxisMap], first: int) -> dict[int, AxisMap]:
    """Return the members of a class to which no operation but moves leads from another member."""
    result = {first: members[first]}
    for value in sorted(members):
        source = value
        while source in graph.maker and graph.maker[source].name in MOVES:
            source = graph.maker[source].operands[0]
            if source in members:
                break
        others = set(members) - {source}
        is_moved = source != value and source in members
        is_computed = any(read in others for op in graph.needed([source], others) for read in op.reads)
        if source in result if is_moved else not is_computed:
            result[value] = members[value]
    return result


# Results, and arguments that nothing describes


def results_differ(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> str:
    """Return how the results of two programs differ by more than their layout and rounding; "" if they do not."""
    left = list(b)
    if len(a) != len(b):
        return ""  # The matching says which of them have a partner.
    for number, array in enumerate(a):
        place = next((k for k, other in enumerate(left) if _is_alike(plain(array), plain(other))), None)
        if place is None:
            return f"result {number} of A has no equal in B, which rounds or computes otherwise"
        left.pop(place)
    return ""


def _is_alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays have about the same elements, or almost exactly in another order."""
    if a.size != b.size:
        return False
    if [n for n in a.shape if n > 1] == [n for n in b.shape if n > 1] and _is_near(a, b.reshape(a.shape), 1e-2):
        return True
    # Sorted samples of one distribution are close though they are different numbers.
    return _is_near(np.sort(a, axis=None), np.sort(b, axis=None), 1e-4)


def _is_near(a: np.ndarray, b: np.ndarray, limit: float) -> bool:
    """Return whether no rounding explains how arrays differ.

    By the L2 error alone: of a low precision or behind a comparison, single elements may be far off.
    """
    wrong, l2, _ = errors(a, b, limit)
    return l2 <= limit if a.dtype.kind in "fc" and b.dtype.kind in "fc" else not wrong.any()


def unmatched_results(classes: Sequence[Class], results: tuple[list[int], list[int]]) -> str:
    """Return which result of either program is not computed by the other; "" if each is."""
    for side in range(2):
        for number, value in enumerate(results[side]):
            others = [found.maps[1 - side] for found in classes if value in found.maps[side]]
            if not any(other in maps for maps in others for other in results[1 - side]):
                one, partner = "AB"[side], "BA"[side]
                return f"result {number} of {one} has no equal in {partner}, which rounds or computes otherwise"
    return ""


def guesses(a: Graph, b: Graph) -> Iterator[list[Order]]:
    """Yield, for the arguments of B, the order of the axes of A's argument at the same place; at most 32 guesses.

    The first guess leaves the arguments as they are where their shapes allow it. Yields nothing if the programs have
    arguments that no order of axes relates.
    """
    if len(a.arguments) != len(b.arguments):
        return
    pairs = [(a.types[x], b.types[y]) for x, y in zip(a.arguments, b.arguments, strict=True)]
    choices = [orders(shape(x), shape(y)) if element(x) == element(y) else [] for x, y in pairs]
    if all(choices):
        # The last argument that has a choice changes fastest.
        yield from map(list, islice(product(*choices), 32))


def orders(source: tuple[int, ...], target: tuple[int, ...]) -> list[Order]:
    """Return the orders of axes that turn a shape into another: as it is, reversed, others. None of over 4 axes."""
    straight = tuple(range(len(source)))
    if len(source) > 4:
        return [straight] if source == target else []
    fitting = [order for order in permutations(straight) if tuple(source[axis] for axis in order) == target]
    return sorted(fitting, key=lambda order: (order != straight, order != straight[::-1]))


def transposed(arguments: Sequence[Argument], guess: Sequence[Order]) -> list[Argument]:
    """Return the arguments of B by those of A and a guess."""

    def moved(argument: Argument, order: Order) -> Argument:
        def value(number: int) -> np.ndarray:
            return np.ascontiguousarray(argument(number).transpose(order))

        return Argument(f"{argument.key} {order}", value, argument.is_fixed)

    return [moved(argument, order) for argument, order in zip(arguments, guess, strict=True)]
