"""Find where two programs of one computation begin to compute different things, and what differs there.

Both programs are evaluated in float64, one operation at a time, and values that are one tensor up to its layout are
matched. Values without a partner on a way to results that differ are open; the first of them are where the programs
part. A difference has a kind only if undoing it is reproduced by numbers: one program, computed again from matched
values without the difference, has partners for its open values, and no first value of either program stays open.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, islice, product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.evaluate import UNIT_ROUNDOFF, evaluate, unsupported
from stackwars.core.judge import RANDOM, worst_error
from stackwars.core.outcome import Failed
from stackwars.core.program import Argument, Graph, GraphError, Op, Program
from stackwars.core.types import ElementTypeError, dtype, element, is_float, shape, size
from stackwars.explain.answer import CLASSIFIED, FAILED, NOT_CLASSIFIED, NOT_LOCATED, Parting, failed
from stackwars.explain.bench import arguments_of, matched
from stackwars.explain.matching import MOVES, AxisMap, Class, is_close, match
from stackwars.explain.reduction import Subsets
from stackwars.explain.task import Settings

EPSILON, PADDING, GELU, ACTIVATION = "epsilon", "padding", "form of GELU", "activation"
TRANSPOSED, AXES, OFFSET, PRECISION = "transposed argument", "order of axes", "position offset", "precision"
MASK, BIAS, SCALE, TERM, DROPOUT = "missing mask", "missing bias", "scale", "missing term", "dropout left on"
STATE, CONSTANT = "initialised state", "constant"
"""Kinds of a difference."""
WHOLE, FIRST = 300, 40
"""A program with at most WHOLE open values is computed again entirely; of a larger one, the first FIRST values."""
LEAST_CLASSES = 3
"""Tensors that must get a partner before a difference counts as undone, unless all results do."""
MOST_SHIFT, MOST_PADDINGS, MOST_CONSTANTS, MOST_VALUES = 8, 24, 48, 24
"""Most hypotheses or values that are tried for each kind of difference."""
SMALL = 0.1
"""A larger added number is not called an epsilon."""
SAMPLE = 4096
"""Elements that are compared to recognise an activation function."""
NEW = -1
"""The value that an edited operation reads in place of an operand."""
_PADDING = re.compile(r"padding = dense<([^>]*)> : tensor<(\d+)x2xi64>")
_NUMBER = re.compile(r"(dense<|epsilon = )([-+]?\d[\d.eE+-]*)(?=>| :)")
_ROOTS = {f"stablehlo.{name}" for name in ("rsqrt", "sqrt", "divide", "power", "log", "cbrt")}
_WINDOWS = {"stablehlo.convolution", "stablehlo.reduce_window"}
_PRODUCTS = {"stablehlo.convolution", "stablehlo.dot_general"}
_CASTS = {"stablehlo.convert", "stablehlo.reduce_precision"}
Values = Callable[[int], np.ndarray]
"""Returns an array in a set of inputs."""


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "GELU by erf": lambda x: 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))),
    "GELU by tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "GELU by sigmoid": lambda x: x / (1 + np.exp(-1.702 * x)),
    "SiLU": lambda x: x / (1 + np.exp(-x)),
    "ReLU": lambda x: np.maximum(x, 0),
}


@dataclass(frozen=True)
class Hypothesis:
    """One difference, and an edit of the program of a side that undoes it.

    value: its operation has the difference. kind: "" for a term, which is described once it is undone.
    source: the value that replaces a term. arrays: replace values. ops: replace operations. new: the type of NEW.
    """

    side: int
    value: int
    kind: str = ""
    words: str = ""
    arrays: Mapping[int, Values] = field(default_factory=dict)
    ops: Mapping[int, Op] = field(default_factory=dict)
    new: str = ""
    source: int = 0


def find(
    programs: tuple[Program, Program], evaluator: CompilerSpec, settings: Settings, say: Callable[[str], None]
) -> Parting:
    """Return where two programs part; its verdict is FAILED if one of them cannot be evaluated."""
    start = time.monotonic()
    try:
        with (
            Worker(evaluator, **settings.evaluator_limits) as worker,
            tempfile.TemporaryDirectory(prefix="stackwars-") as folder,
        ):
            found = _find(worker, programs, Path(folder), start + settings.budget_s, say)
    except (Failed, GraphError, ElementTypeError, MemoryError) as error:
        found = failed(Parting(*(one.label for one in programs), FAILED), error)
    return replace(found, seconds=round(time.monotonic() - start, 1))


@np.errstate(all="ignore")
def _find(
    worker: Worker, programs: tuple[Program, Program], folder: Path, end: float, say: Callable[[str], None]
) -> Parting:
    labels = tuple(program.label for program in programs)
    graphs = tuple(worker.graph(program.text) for program in programs)
    for graph, label in zip(graphs, labels, strict=True):
        if op := unsupported(graph):
            return Parting(*labels, FAILED, f"{op.name} of {label} has a result of no known extents")
        if random := graph.names & RANDOM:
            return Parting(*labels, FAILED, f"{label} draws random numbers ({', '.join(sorted(random))})")
    aligned = Alignment(worker, programs, graphs, folder)
    say(f"{aligned.count} tensors of both, open values {[len(values) for values in aligned.open]}")
    if not any(aligned.differing):
        return Parting(*labels, NOT_LOCATED, "every result has an equal in the other program")
    found = Parting(*labels, NOT_CLASSIFIED, matched=aligned.count)
    hypotheses = Hypotheses(aligned, labels)
    pair, error = aligned.first_pair()
    for hypothesis in hypotheses:
        if time.monotonic() > end:
            found = replace(found, detail="no time is left for further hypotheses")
            break
        if undone := aligned.undo(hypothesis):
            kind, words = hypotheses.described(hypothesis)
            say(f"{kind}: {words}")
            pair = tuple(hypothesis.value if side == hypothesis.side else undone.pair[side] for side in (0, 1))
            found = replace(found, verdict=CLASSIFIED, kind=kind, detail=words, is_all=undone.is_all)
            error = undone.error
            break
    places = {}
    for side, graph, program, value in zip("ab", graphs, programs, pair, strict=True):
        op = graph.maker.get(value)
        places[f"value_{side}"] = f"{op.name if op else 'argument'} : {graph.types[value]}"
        places[f"line_{side}"] = program.place(op.place) if op else ""
    is_known = error is not None and math.isfinite(error)
    return replace(found, **places, error=float(error) if is_known else None)


# The programs side by side


class Undone(NamedTuple):
    """The first values that an edit makes equal, (of A, of B), their error without it, and whether all results are."""

    pair: tuple[int, int]
    error: float | None
    is_all: bool


class Alignment:
    """Two evaluated programs.

    differing: results without an equal among the other's. open: values without a partner on a way to these, in
    order. front: open values that no other significant one leads to. wanted: open values that are computed again.
    """

    def __init__(
        self, worker: Worker, programs: tuple[Program, Program], graphs: tuple[Graph, Graph], folder: Path
    ) -> None:
        self.graphs, self._worker = graphs, worker
        self._results = (graphs[0].results, graphs[1].results)
        self._constant = tuple(Subsets(graph).constant for graph in graphs)
        arguments = tuple(map(arguments_of, programs, graphs))
        self.evaluated, classes = matched(worker, graphs, arguments, folder)
        self.count = len(classes)
        self.matched: tuple[dict[int, Class], ...] = tuple(
            {value: found for found in classes for value in found.maps[side]} for side in (0, 1)
        )
        self.differing = self._left(classes, self._results)
        self.open = tuple(map(open_values, graphs, self.matched, self.differing))
        self.stop = tuple(self.matched[side].keys() - set(self.open[side]) for side in (0, 1))
        significant = [[one for one in self.open[side] if self.is_significant(side, one)] for side in (0, 1)]
        most = [None if len(values) <= WHOLE else FIRST for values in self.open]
        self.wanted = [values[:count] for values, count in zip(significant, most, strict=True)]
        self.front = [self._front(side, set(significant[side])) for side in (0, 1)]

    def array(self, side: int, value: int, which: int = 0) -> np.ndarray:
        """Return a value in a set of inputs.

        :raises KeyError: for a value that was not saved.
        """
        return self.evaluated[side].array(value, which).reshape(shape(self.graphs[side].types[value]))

    def is_number(self, side: int, value: int) -> bool:
        """Return whether a value is a floating-point tensor."""
        return is_float(dtype(self.graphs[side].types[value]))

    def is_significant(self, side: int, value: int) -> bool:
        """Return whether a value is a result, or numbers that arguments decide and that can be told from others."""
        is_decided = value not in self._constant[side] and self.is_number(side, value)
        return value in self._results[side] or (is_decided and self.evaluated[side].is_informative(value))

    def steps(self, side: int, fixed: Iterable[int] = ()) -> list[Op]:
        """Return the operations that compute the wanted values again. fixed: values that are not computed."""
        return self.graphs[side].needed(self.wanted[side], self.stop[side] | set(fixed))

    def undo(self, hypothesis: Hypothesis) -> Undone | None:
        """Return what an edit makes equal; None if the programs still part where they did."""
        side, other, arrays = hypothesis.side, 1 - hypothesis.side, hypothesis.arrays
        graph, wanted = self.graphs[side], self.wanted[side]
        steps = [hypothesis.ops.get(op.number, op) for op in self.steps(side, arrays)]
        made = {value for op in steps for value in op.results}
        reads = [value for op in steps for value in op.reads if value not in made]
        fixed = list(dict.fromkeys([*reads, *(value for value in arrays if value in wanted)]))
        wanted = [value for value in wanted if value in made or value in arrays]
        types = graph.types | ({NEW: hypothesis.new} if hypothesis.new else {})
        results = [value for value in wanted if value in made]
        part = Graph(fixed, steps, results, types, graph.functions, graph.names)
        saved = {value: partial(self.evaluated[side].array, value) for value in fixed} | dict(arrays)
        with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
            try:
                values = [Argument(str(value), saved[value]) for value in fixed]
                edited = evaluate(self._worker, part, values, Path(folder))
            except Failed:
                return None
            results = ([one for one in self._results[side] if one in wanted], self._results[other])
            found = match((edited, self.evaluated[other]), (wanted, self.open[other][:WHOLE]), results)
        return self._undone([Class(one.first[::-1], one.maps[::-1]) for one in found] if side else found)

    def _undone(self, found: Sequence[Class]) -> Undone | None:
        """Return what has a partner again; None if a first value of either program stays open."""
        left = self._left(found, self.differing)
        for side in (0, 1):
            closed = self.matched[side].keys() | {value for one in found for value in one.maps[side]}
            if set(open_values(self.graphs[side], closed, left[side])).intersection(self.front[side]):
                return None
        is_all = not any(left)
        if not found or not (is_all or len(found) >= LEAST_CLASSES):
            return None
        return Undone(found[0].first, self._error(found[0].first, found[0].maps[0][found[0].first[0]]), is_all)

    def _error(self, pair: tuple[int, int], axes: AxisMap) -> float | None:
        """Return how much two values differ; None if one was not saved."""
        try:
            return worst_error(self.array(0, pair[0]), axes.apply(self.array(1, pair[1])))
        except KeyError:
            return None

    def first_pair(self) -> tuple[tuple[int, int], float | None]:
        """Return the first open value of each program, of one shape if there are such, and how much they differ."""
        for pair in product(*self.front):
            a, b = (shape(self.graphs[side].types[value]) for side, value in enumerate(pair))
            if [extent for extent in a if extent > 1] == [extent for extent in b if extent > 1]:
                return pair, self._error(pair, AxisMap.reshape(a))
        return tuple((self.front[side] or self.open[side] or self._results[side])[0] for side in (0, 1)), None

    def _left(self, classes: Sequence[Class], results: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
        """Return the results of each program that no result of the other equals."""
        left = []
        for side, other in ((0, 1), (1, 0)):
            equal = [found.maps[side] for found in classes if found.maps[other].keys() & self._results[other]]
            left.append([value for value in results[side] if not any(value in maps for maps in equal)])
        return tuple(left)

    def _front(self, side: int, significant: set[int]) -> list[int]:
        front, behind = [], set()
        for value in self.open[side]:
            op = self.graphs[side].maker.get(value)
            is_first = not behind.intersection(op.reads if op else ())
            if is_first and value in significant:
                front.append(value)
            if not is_first or value in significant:
                behind.add(value)
        return front


def open_values(graph: Graph, closed: Iterable[int], results: Iterable[int]) -> list[int]:
    """Return the values that lead to results and are not closed, in order; the results are among them."""
    closed = set(closed)
    reads = {value for op in graph.needed(results, closed) for value in op.reads}
    return sorted((reads - closed).union(results))


# Hypotheses


class Hypotheses:
    """Hypotheses in the order of how much they say, each as an edit of either program."""

    def __init__(self, aligned: Alignment, labels: tuple[str, str]) -> None:
        self._aligned, self._graphs, self._labels = aligned, aligned.graphs, labels

    def __iter__(self) -> Iterator[Hypothesis]:
        makers = (self._rounding, self._padding, self._activations, self._constants)
        for make, side in product((*makers, self._arrangements, self._offsets, self._terms), (0, 1)):
            yield from make(side)

    def _against(self, side: int, here: object, there: object) -> str:
        """Return what both programs have, A's first."""
        pairs = [(here, self._labels[side]), (there, self._labels[1 - side])][:: -1 if side else 1]
        return " against ".join(f"{what} in {label}" for what, label in pairs)

    def _rounding(self, side: int) -> Iterator[Hypothesis]:
        """Leave out all casts to a narrower type."""
        types, edits, names = self._graphs[side].types, {}, {}
        for op in self._aligned.steps(side):
            if op.name not in _CASTS or not self._aligned.is_number(side, op.results[0]):
                continue
            source, target = types[op.operands[0]], types[op.results[0]]
            is_narrower = UNIT_ROUNDOFF.get(element(target), 0) > UNIT_ROUNDOFF.get(element(source), 1)
            if is_narrower or op.name == "stablehlo.reduce_precision":
                pieces = ('"stablehlo.reshape"(', op.operands[0], f") : ({source}) -> {target}")
                edits[op.number] = replace(op, name="stablehlo.reshape", pieces=pieces)
                names[element(target) if is_narrower else "fewer bits"] = op.results[0]
        if edits:
            words = f"{self._labels[side]} rounds to {' and '.join(names)}, {self._labels[1 - side]} does not"
            yield Hypothesis(side, next(iter(names.values())), PRECISION, words, ops=edits)

    def _padding(self, side: int) -> Iterator[Hypothesis]:
        """Pad a window of the front by other numbers: those of the other program first."""
        other = [op for op in self._aligned.steps(1 - side) if op.name in _WINDOWS]
        theirs = [row for op in other for row in _paddings(op, self._graphs[1 - side])]
        for op in self._front_ops(side):
            if op.name not in _WINDOWS:
                continue
            rows = _paddings(op, self._graphs[side])
            moved = [place for place, row in enumerate(rows) if any(row)]
            moved = moved or list(range(len(rows) if op.name == "stablehlo.convolution" else 0))
            totals = [sum(rows[moved[0]]) + more for more in (0, 1, -1)] if moved else []
            splits = [(low, total - low) for total in totals for low in range(total + 1)]
            for pair in list(dict.fromkeys([*theirs, *splits]))[:MOST_PADDINGS] if moved else ():
                wanted = [pair if place in moved else row for place, row in enumerate(rows)]
                if wanted != rows:
                    text = f"padding = dense<{json.dumps(wanted)}> : tensor<{len(rows)}x2xi64>"
                    has_text = _PADDING.search(op.form())
                    pattern, text = (_PADDING, text) if has_text else (re.compile("<{"), f"<{{{text}, ")
                    edit = _changed(op, pattern, text)
                    words = self._against(side, rows[moved[0]], pair)
                    yield Hypothesis(side, op.results[0], PADDING, words, ops={op.number: edit})

    def _activations(self, side: int) -> Iterator[Hypothesis]:
        """Replace an activation function by another."""
        for value, source in self._derived(side):
            x, y = (
                self._aligned.array(side, one).reshape(-1)[:SAMPLE].astype(float) for one in (source, value)
            )
            here = next((name for name, form in ACTIVATIONS.items() if _equal(form(x), y)), "")
            for there, form in ACTIVATIONS.items() if here else ():
                if here != there:
                    kind = GELU if here.startswith("GELU") and there.startswith("GELU") else ACTIVATION
                    # An argument has its own type, in which a function is less exact.
                    arrays = {
                        value: self._like(side, value, side, source, lambda x, f=form: f(x.astype(float)))
                    }
                    yield Hypothesis(side, value, kind, self._against(side, here, there), arrays)

    def _constants(self, side: int) -> Iterator[Hypothesis]:
        """Replace a number by one of the other program."""
        mine, theirs = (self._numbers(one) for one in (side, 1 - side))
        here, there = mine.keys() - theirs.keys() or mine.keys(), theirs.keys() - mine.keys() or theirs.keys()
        pairs = [pair for pair in product(here, there) if pair[0] != pair[1]]
        # Numbers of one purpose are rarely far apart.
        pairs.sort(key=distance)
        for a, b in pairs[:MOST_CONSTANTS]:
            edits = {op.number: _changed(op, _NUMBER, rf"\g<1>{b:.9e}") for op in mine[a]}
            value, kind = self._role(side, mine[a][0], max(abs(a), abs(b)))
            words = self._against(side, f"{a:.6g}", f"{b:.6g}")
            yield Hypothesis(side, value, kind, words, ops=edits)

    def _numbers(self, side: int) -> dict[float, list[Op]]:
        """Return the operations that have a number and compute wanted values, by the number."""
        result: dict[float, list[Op]] = {}
        for op in self._aligned.steps(side):
            is_constant = op.name == "stablehlo.constant" and self._aligned.is_number(side, op.results[0])
            if (is_constant or "batch_norm" in op.name) and (found := _NUMBER.search(op.form())):
                result.setdefault(float(found[2]), []).append(op)
        return result

    def _role(self, side: int, op: Op, largest: float) -> tuple[int, str]:
        """Return the value that a number is first used for, and the kind of a difference in the number."""
        if "batch_norm" in op.name:
            return op.results[0], EPSILON
        value, steps = op.results[0], self._aligned.steps(side)
        user = next((one for one in steps if value in one.reads), op)
        while user.name in MOVES and user.results[0] != value:
            value = user.results[0]
            user = next((one for one in steps if value in one.reads), user)
        near, is_root = {user.results[0]}, False
        for one in steps:
            if near.intersection(one.reads) and len(near) < 8:
                near.update(one.results)
                is_root |= one.name in _ROOTS
        name = user.name.rpartition(".")[2]
        if name in ("add", "maximum") and largest <= SMALL and is_root:
            return user.results[0], EPSILON
        return user.results[0], {"while": STATE, "multiply": SCALE, "divide": SCALE}.get(name, CONSTANT)

    def _arrangements(self, side: int) -> Iterator[Hypothesis]:
        """Give an operation of the front an operand with its axes in another order."""
        aligned, other = self._aligned, 1 - side
        operands = [(op, operand) for op in self._front_ops(side) for operand in dict.fromkeys(op.operands)]
        for op, operand in operands:
            found = aligned.matched[side].get(operand)
            if not found or operand not in aligned.stop[side] or not aligned.is_number(side, operand):
                continue
            kind = self._graphs[side].types[operand]
            extents = shape(kind)
            moves: list[tuple[str, Values]] = [
                (f"as {self._labels[other]} reads it", self._like(side, operand, other, one))
                for one in found.maps[other]
            ]
            moves += [
                (
                    f"with axes {i} and {j} swapped",
                    self._like(side, operand, side, operand, partial(_swapped, i, j)),
                )
                for i, j in combinations(range(len(extents)), 2)
                if op.name in _PRODUCTS and extents[i] == extents[j] > 1
            ]
            is_argument = any(found.maps[one].keys() & set(self._graphs[one].arguments) for one in (0, 1))
            for how, values in moves:
                if not is_close(values(0), aligned.array(side, operand)):
                    words = f"{kind} of {self._labels[side]} {how}"
                    edits = {op.number: _reading(op, operand)}
                    kinds = TRANSPOSED if is_argument else AXES
                    yield Hypothesis(side, op.results[0], kinds, words, {NEW: values}, edits, kind)

    def _like(
        self, side: int, value: int, of: int, source: int, form: Callable[[np.ndarray], np.ndarray] = np.asarray
    ) -> Values:
        """Return what gives a source of program `of` in the shape of a value, changed by a function."""
        extents = shape(self._graphs[side].types[value])
        return lambda which: form(self._aligned.array(of, source, which).reshape(extents))

    def _offsets(self, side: int) -> Iterator[Hypothesis]:
        """Replace a value by one of the other program that is equal along an axis from a later place on."""
        aligned = self._aligned
        known = (
            filter(one.is_informative, values)
            for one, values in zip(aligned.evaluated, aligned.open, strict=True)
        )
        values = [list(islice(one, MOST_VALUES)) for one in known]
        # An offset of one program is the opposite one of the other.
        for a, b in product(*values) if side == 0 else ():
            pair = [np.squeeze(aligned.array(0, a)), np.squeeze(aligned.array(1, b))]
            if pair[0].shape != pair[1].shape or pair[0].dtype.kind != pair[1].dtype.kind:
                continue
            for axis, one in product(range(pair[0].ndim), (0, 1)):
                ahead, behind = (np.moveaxis(pair[place], axis, 0) for place in (1 - one, one))
                if shift := _shift(ahead, behind):
                    further = f"{shift} further on in {self._labels[1 - one]}"
                    words = f"places along axis {axis} of {pair[0].shape} are {further}"
                    yield Hypothesis(0, a, OFFSET, words, {a: self._like(0, a, 1, b)})

    def _terms(self, side: int) -> Iterator[Hypothesis]:
        """Put a matched value in place of one that is computed from it: leave out what is between."""
        for value, source in self._derived(side):
            arrays = {value: self._like(side, value, side, source)}
            yield Hypothesis(side, value, arrays=arrays, source=source)

    def described(self, hypothesis: Hypothesis) -> tuple[str, str]:
        """Return the kind of a difference that was undone, and the difference in words."""
        if hypothesis.kind:
            return hypothesis.kind, hypothesis.words
        side, value = hypothesis.side, hypothesis.value
        values = (self._aligned.array(side, value), self._like(side, value, side, hypothesis.source)(0))
        kind, words = term(*(one.astype(np.float64) for one in values))
        if not words:
            between = self._graphs[side].needed([value], self._aligned.stop[side])
            names = [op.name.rpartition(".")[2] for op in between if op.name != "stablehlo.constant"]
            words = f"the operations {', '.join(dict.fromkeys(names))}"
        return kind, f"{self._labels[side]} has {words}, {self._labels[1 - side]} does not"

    def _derived(self, side: int) -> Iterator[tuple[int, int]]:
        """Yield the first open values, each with the matched ones of its size that lead to it, the nearest first."""
        graph, stop, types = self._graphs[side], self._aligned.stop[side], self._graphs[side].types
        for value in self._aligned.wanted[side][:MOST_VALUES]:
            left, seen = [value], set()
            while left:
                op = graph.maker.get(left.pop(0))
                further = [one for one in (op.reads if op else ()) if one not in seen]
                seen.update(further)
                left += [one for one in further if one not in stop]
                known = [one for one in further if one in stop or one in graph.arguments]
                for one in known:
                    if self._aligned.is_number(side, one) and size(types[one]) == size(types[value]):
                        yield value, one

    def _front_ops(self, side: int) -> list[Op]:
        maker = self._graphs[side].maker
        return [maker[value] for value in self._aligned.front[side] if value in maker]


@np.errstate(all="ignore")
def term(y: np.ndarray, x: np.ndarray) -> tuple[str, str]:
    """Return what makes y of x, as (kind, words); TERM without words if nothing simple does."""
    sample = (x.reshape(-1)[:SAMPLE], y.reshape(-1)[:SAMPLE])
    for name, form in ACTIVATIONS.items():
        if _equal(form(sample[0]), sample[1]):
            return ACTIVATION, name
    ratios, differences = y / x, y - x
    is_same = np.abs(differences) <= 1e-9 * np.abs(x)
    live = x != 0
    rest, share = ratios[live & (y != 0)], float((y[live] == 0).mean())
    if 0 < share < 1 and rest.size and np.ptp(rest) <= 1e-6 * abs(rest[0]) and rest[0] > 1:
        rate = 1 - 1 / float(rest[0])
        if abs(share - rate) <= 5 * math.sqrt(rate * (1 - rate) / live.sum()) + 1 / live.sum():
            return DROPOUT, f"{share:.2g} of the elements set to zero and the others divided by {1 - rate:.3g}"
    share = float(1 - is_same.mean())
    if 0 < share < 1 and _is_mask(y[~is_same], x, is_same):
        return MASK, f"a mask of {share:.2g} of the elements"
    if np.isfinite(ratios).all() and np.ptp(ratios) <= 1e-6 * abs(ratios.flat[0]):
        return SCALE, f"a factor of {float(ratios.flat[0]):.6g}"
    if not np.isfinite(differences).all():
        return TERM, ""
    if np.ptp(differences) <= 1e-9 * float(np.abs(y).max()):
        added = float(differences.flat[0])
        return EPSILON if abs(added) <= SMALL else CONSTANT, f"{added:.6g} added"
    for kind, found, words in ((BIAS, differences, "a bias"), (SCALE, ratios, "a factor")):
        for axis in range(found.ndim) if np.isfinite(found).all() and found.ndim > 1 else ():
            others = tuple(one for one in range(found.ndim) if one != axis)
            if _equal(np.broadcast_to(found.mean(others, keepdims=True), found.shape), found):
                return kind, f"{words} along axis {axis} of {found.shape}"
    return TERM, ""


def distance(pair: tuple[float, float]) -> float:
    """Return how far apart two numbers are by the logarithm of their ratio; 0 counts as 1e-30."""
    a, b = (abs(one) or 1e-30 for one in pair)
    return abs(math.log(a / b)) if a / b else math.inf


def _is_mask(masked: np.ndarray, x: np.ndarray, is_same: np.ndarray) -> bool:
    """Return whether elements were set to one value or moved far down regardless of their size."""
    far = 1e3 * (float(np.abs(x).max()) or 1.0)
    is_one = np.unique(masked).size == 1 or bool((masked <= -far).all())
    low, high = x[~is_same], x[is_same]
    return is_one and not (low.max() <= high.min() or high.max() <= low.min())


def _shift(ahead: np.ndarray, behind: np.ndarray) -> int:
    """Return the number of places by which an array is ahead of another along the first axis, or 0.

    Both must share most places, and the array must differ from itself when it is shifted by as much.
    """
    for shift in range(1, min(MOST_SHIFT, len(ahead) // 2) + 1):
        # Comparing one place rules out most shifts cheaply.
        if _equal(ahead[0], behind[shift]) and _equal(ahead[:-shift], behind[shift:]):
            return 0 if _equal(behind[:-shift], behind[shift:]) else shift
    return 0


def _swapped(i: int, j: int, array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.swapaxes(i, j))


def _equal(found: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.isfinite(found).all()) and is_close(found, expected)


def _paddings(op: Op, graph: Graph) -> list[tuple[int, int]]:
    """Return how many elements a window operation pads before and after each of its axes."""
    if found := _PADDING.search(op.form()):
        rows = np.broadcast_to(np.array(json.loads(found[1])), (int(found[2]), 2))
        return [(int(low), int(high)) for low, high in rows]
    extents = shape(graph.types[op.operands[0]])
    return [(0, 0)] * (len(extents) - 2 if op.name == "stablehlo.convolution" else len(extents))


def _changed(op: Op, pattern: re.Pattern, text: str) -> Op:
    """Return an operation with the first match of a pattern in its text replaced."""
    pieces = list(op.pieces)
    texts = ((place, piece) for place, piece in enumerate(pieces) if isinstance(piece, str))
    at = next(place for place, piece in texts if pattern.search(piece))
    pieces[at] = pattern.sub(text, pieces[at], count=1)
    return replace(op, pieces=tuple(pieces))


def _reading(op: Op, operand: int) -> Op:
    """Return an operation that reads NEW in place of an operand."""
    pieces, operands = (
        tuple(NEW if not isinstance(one, str) and one == operand else one for one in parts)
        for parts in (op.pieces, op.operands)
    )
    return replace(op, pieces=pieces, operands=operands)
