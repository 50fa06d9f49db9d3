"""Reduce a program with a fault: to the smallest run of operations, to the smallest sizes, and into a loop's body.

A subset of the operations is tried in a suspect compiler with the values that it gets in the program. Its results are
judged by the values of each operation alone in float64, from the same arguments, or by the StableHLO interpreter, which
may take seconds for a trial.

A fault may need several operations at once, and most faults vanish if an intermediate value becomes a result. So a
subset of the operations gets the values before it as arguments, its inside stays as it is, and only values that leave
it anyway become results. Constants and values computed from constants alone stay inside, because compilers fold them.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from stackwars.core import check, judge
from stackwars.core.client import Worker
from stackwars.core.evaluate import evaluate
from stackwars.core.judge import Expected, expected_values
from stackwars.core.outcome import Failed, Outcome, Status, brief
from stackwars.core.program import Argument, Emitter, Graph, GraphError, Op, fixed
from stackwars.core.types import as_type, element, is_tensor, shape, size
from stackwars.explain.reproducer import array_types, seeded

LITERAL = 1024
"""Most elements of a constant that a subset spells out."""
SOURCES = ("stablehlo.constant", "stablehlo.iota")
"""Operations without operands, which nothing makes simpler."""
NOT_CONSTANT = {
    f"stablehlo.{name}"
    for name in (
        "rng", "rng_bit_generator", "infeed", "create_token", "after_all", "partition_id", "replica_id",
    )
}  # fmt: skip
"""Operations that may give other values in every call, or no values."""
WHILE = "stablehlo.while"
SMALL = (1, 2, 3, 4)
"""Sizes that are tried first: some faults are of small extents alone."""
CALLS = 2
"""Calls of a program: some faults come and go."""
DISK = 4 << 30
"""Bytes of intermediate values that are saved at once."""
_LABELS = itertools.count()
"""Labels of the arrays in a worker, which several programs share."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class Subset:
    """Operations of a graph as a program.

    chosen: numbers of its operations that depend on arguments. results: values. literals: values computed from
    constants that are spelled out in place of the operations that compute them.
    """

    chosen: tuple[int, ...]
    results: tuple[int, ...]
    literals: frozenset[int] = frozenset()


class Subsets:
    """The subsets of a graph's operations. constant: the values that are computed from constants alone."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constant: set[int] = set()
        for op in graph.ops:
            if op.name not in NOT_CONSTANT and all(value in self.constant for value in op.reads):
                self.constant.update(op.results)

    def is_constant(self, op: Op) -> bool:
        return bool(op.results) and all(value in self.constant for value in op.results)

    def whole(self) -> Subset:
        """Return the subset with every operation that the graph's results need."""
        needed = self.graph.needed(self.graph.results)
        chosen = tuple(op.number for op in needed if not self.is_constant(op))
        results = dict.fromkeys(value for value in self.graph.results if value in self.graph.maker)
        return Subset(chosen, tuple(results))

    def subset(self, chosen: Iterable[int], results: Iterable[int], literals: Iterable[int] = ()) -> Subset:
        """Return the subset of those of the chosen operations that the results need, and of the results in it."""
        wanted = set(chosen)
        maker = self.graph.maker
        made = tuple(value for value in results if value in self.constant or maker[value].number in wanted)
        ops, _ = self._closure(Subset(tuple(wanted), made, frozenset(literals)))
        left = frozenset(literals) & {value for op in ops for value in op.reads}
        return Subset(tuple(op.number for op in ops if op.number in wanted), made, left)

    def operations(self, subset: Subset) -> list[Op]:
        """Return the subset's operations in order, constants included, spelled-out values excluded."""
        return self._closure(subset)[0]

    def arguments(self, subset: Subset) -> list[int]:
        """Return the values that the subset reads and does not compute: the graph's arguments first, in its order."""
        return self._closure(subset)[1]

    def text(self, subset: Subset, literals: Mapping[int, np.ndarray] | None = None) -> str:
        """Return the subset as a module in generic form. literals: the values of those that the subset spells out."""
        emitter, names = Emitter(), {}
        ops, arguments = self._closure(subset)
        for value in arguments:
            names[value] = emitter.argument(self.graph.types[value])
        for value in sorted(subset.literals):
            names[value] = emitter.line(constant(literals[value], self.graph.types[value]))
        for op in ops:
            emitter.op(self.graph, op, names)
        return emitter.module([(names[value], self.graph.types[value]) for value in subset.results])

    def leaving(self, subset: Subset, chosen: Sequence[int]) -> list[int]:
        """Return the values of these operations that the subset returns or its other operations read."""
        inside = set(chosen)
        others = [op for op in self.operations(subset) if op.number not in inside]
        read = {value for op in others for value in op.reads} | set(subset.results)
        made = (value for number in chosen for value in self.graph.ops[number].results)
        return [value for value in made if value in read and is_tensor(self.graph.types[value])]

    def _closure(self, subset: Subset) -> tuple[list[Op], list[int]]:
        """Return the operations that the results need, and the values that those read and do not compute."""
        inside, wanted, ops = set(subset.chosen), set(subset.results), []
        for op in reversed(self.graph.ops):
            needed = any(value in wanted and value not in subset.literals for value in op.results)
            if needed and (op.number in inside or self.is_constant(op)):
                ops.append(op)
                wanted.update(op.reads)
        made = {value for op in ops for value in op.results} | subset.literals
        return ops[::-1], sorted(wanted - made)


def constant(array: np.ndarray, kind: str) -> str:
    """Return the text of an operation whose result has these values.

    :raises ValueError: for elements that are written in two numbers or that NumPy does not have.
    """
    written = np.empty(size(kind), object)
    written[:] = [_number(one, element(kind)) for one in np.asarray(array).ravel()]
    listed = written.reshape(shape(kind)).tolist()
    body = str(listed).replace("'", "") if size(kind) else ""
    return f'"stablehlo.constant"() <{{value = dense<{body}> : {kind}}}> : () -> {kind}'


def _number(value: np.generic, scalar: str) -> str:
    if scalar == "i1":
        return "true" if value else "false"
    if scalar[0] in "iu":
        return str(int(value))
    if scalar in ("f16", "f32", "f64"):
        bits = value.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[scalar])
        return "0x" + bits.tobytes()[::-1].hex().upper() if not np.isfinite(bits) else f"{float(bits):.17e}"
    raise ValueError(f"expected integers or floats of NumPy, got {scalar}; fix: do not spell this constant out")


def shrink(items: Sequence[Item], is_enough: Callable[[list[Item]], bool]) -> list[Item]:
    """Return fewer items that are still enough: none of them can be left out alone.

    is_enough: is true of all items.
    """
    # Delta debugging (Zeller and Hildebrandt, IEEE TSE 28, 2002). Large chunks go first, because a fault needs few of
    # many items: single items from the start would take a trial each. Chunks become smaller after every pass, but never
    # smaller than half of what is left, and the last pass repeats with single items until it leaves none out: an item
    # that was needed together with another is tried again once the other is gone.
    left, chunk = list(items), max(1, len(items) // 2)
    while left:
        before, at = len(left), 0
        while at < len(left):
            rest = left[:at] + left[at + chunk :]
            if is_enough(rest):
                left = rest
            else:
                at += chunk
        if chunk == 1 and len(left) == before:
            break
        chunk = max(1, min(chunk // 2, len(left) // 2))
    return left


class Reduction:
    """Reduces a subset while `is_faulty` stays true of it."""

    def __init__(self, subsets: Subsets, is_faulty: Callable[[Subset], bool]) -> None:
        """is_faulty: of a subset; raises TimeoutError once no time is left: the smallest so far is the answer."""
        self.subsets, self._is_faulty = subsets, is_faulty
        self._known: dict[Subset, bool] = {}
        self.smallest = subsets.whole()

    def run(self) -> Subset:
        """Return the smallest subset found, which is faulty if the whole is."""
        steps = (
            # Two bisections: a few trials leave most of a long program behind.
            self._start_later, self._stop_earlier,
            # Results first, then operations: what an operation computes for a dropped result alone goes with it.
            self._return_less, self._use_constants_alone, self._drop_operations,
            # Operations that were dropped may have been all that needed a result or a constant's expression.
            self._return_less, self._spell_out,
        )  # fmt: skip
        with contextlib.suppress(TimeoutError):
            for step in steps:
                step()
        return self.smallest

    def _try(self, subset: Subset) -> bool:
        """Return whether a subset is faulty; if so it is the smallest so far."""
        if not subset.results:
            return False
        if subset not in self._known:
            self._known[subset] = self._is_faulty(subset)
        # Equally small is enough: the step that tries it has a simpler form in mind, such as a constant spelled out.
        if self._known[subset] and self._extent(subset) <= self._extent(self.smallest):
            self.smallest = subset
        return self._known[subset]

    def _extent(self, subset: Subset) -> tuple[int, int, int]:
        return len(subset.chosen), len(self.subsets.operations(subset)), len(subset.results)

    def _start_later(self) -> None:
        """Replace operations at the start by their values: find the latest start with the fault."""
        # The values that enter are those of the program, so the operations behind them meet the numbers that showed the
        # fault. Without the first operation of the fault it is gone, and stays gone for every later start: a bisection
        # finds the place. If a compiler breaks the program at two places it finds one of them, which is enough.
        subset = self.smallest

        def is_too_late(start: int) -> bool:
            return not self._try(self.subsets.subset(subset.chosen[start:], subset.results))

        bisect(0, len(subset.chosen), is_too_late)

    def _stop_earlier(self) -> None:
        """Leave operations at the end out: find the earliest end with the fault."""
        # After the start, because now a trial is short. What leaves the remaining operations becomes the results: all
        # of it, because nobody knows which value is wrong, and nothing else, because a result inside would keep the
        # compiler from fusing what it breaks by fusing.
        subset = self.smallest

        def is_late_enough(end: int) -> bool:
            chosen = subset.chosen[:end]
            return self._try(self.subsets.subset(chosen, self.subsets.leaving(subset, chosen)))

        bisect(0, len(subset.chosen), is_late_enough)

    def _return_less(self) -> None:
        """Return one wrong result, or as few as the fault needs."""
        subset = self.smallest
        for value in subset.results:
            alone = self.subsets.subset(subset.chosen, [value], subset.literals)
            if len(subset.results) > 1 and self._try(alone):
                return
        shrink(
            subset.results,
            lambda results: self._try(self.subsets.subset(subset.chosen, results, subset.literals)),
        )

    def _use_constants_alone(self) -> None:
        """Find a value computed from constants alone that has the fault: the first one."""
        # The compiler's folding is wrong then, and no operation on an argument is needed.
        constants = [op for op in self.subsets.operations(self.smallest) if self.subsets.is_constant(op)]
        for op in constants:
            if op.name not in SOURCES and self._try(self.subsets.subset((), op.results)):
                return

    def _drop_operations(self) -> None:
        """Replace single operations, and runs of them, by their values."""
        # The bisections cut a beginning and an end off. Between the first and the last operation of the fault others
        # remain, such as a second chain or a part of one that the fault does not pass through.
        subset = self.smallest
        shrink(subset.chosen, lambda chosen: self._try(self.subsets.subset(chosen, subset.results)))

    def _spell_out(self) -> None:
        """Write small values computed from constants as constants, the last one first."""
        # The last one makes the expressions that it was computed from needless.
        for op in reversed(self.subsets.operations(self.smallest)):
            kinds = [self.subsets.graph.types[value] for value in op.results]
            small = all(is_tensor(kind) and 0 < size(kind) <= LITERAL for kind in kinds)
            if self.subsets.is_constant(op) and op.name not in SOURCES and small:
                subset = self.smallest
                literals = subset.literals | set(op.results)
                if not set(op.results) & set(subset.results):
                    self._try(self.subsets.subset(subset.chosen, subset.results, literals))


# Smaller sizes


def smallest_sizes(sizes: Mapping[str, int], is_faulty: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """Return sizes of a workload with the fault, of which none can be made smaller alone.

    is_faulty: is true of `sizes`; raises TimeoutError once no time is left, and the smallest so far is the answer.
    """
    known: dict[tuple[int, ...], bool] = {}
    smallest = dict(sizes)

    def fails(name: str, extent: int) -> bool:
        """Return whether the sizes with another extent are faulty; if so they are the smallest so far."""
        changed = {**smallest, name: extent}
        key = tuple(changed.values())
        if key not in known:
            known[key] = is_faulty(changed)
        if known[key]:
            smallest[name] = extent
        return known[key]

    with contextlib.suppress(TimeoutError):
        # A size may be made smaller once another is, so each is searched again until none changed since its search.
        searched: dict[str, dict[str, int]] = {}  # {size: all sizes after it was searched}
        while any(searched.get(name) != smallest for name in sizes):
            for name in sizes:
                if searched.get(name) != smallest:
                    _search_extent(smallest[name], partial(fails, name))
                    searched[name] = dict(smallest)
    return smallest


def _search_extent(extent: int, fails: Callable[[int], bool]) -> None:
    """Try ever smaller extents, from one that fails."""
    if any(small < extent and fails(small) for small in SMALL):
        return
    # A size that must divide another, or be a multiple, is halved or stays.
    while extent // 2 > max(SMALL) and fails(extent // 2):
        extent //= 2
    bisect(max(extent // 2, max(SMALL)), extent, fails)


def bisect(low: int, high: int, holds: Callable[[int], bool]) -> None:
    """Try numbers between low, at which something does not hold, and high, at which it does, to find the first."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)


# The body of a loop


def loop_body(graph: Graph, op: Op) -> str:
    """Return the body of a loop as a module: its arguments are the carried values, then those that it captures."""
    captured = [value for value in op.reads if value not in op.operands]
    names = {value: f"%captured{value}" for value in op.reads}
    lines = op.text(names).splitlines()
    # The generic text of a loop is its condition, this line, its body, and the line with its type.
    first = lines.index("    }, {")
    last = next(number for number, line in enumerate(lines) if line.startswith("    }) : "))
    header, *inside, returned = lines[first + 1 : last]
    carried = header[header.index("(") + 1 : header.rindex(")")]
    label = ", ".join([carried, *(f"{names[value]}: {graph.types[value]}" for value in captured)])
    takes = ", ".join(graph.types[value] for value in (*op.operands, *captured))
    gives = ", ".join(graph.types[value] for value in op.results)
    returned = returned.replace('"stablehlo.return"(', '"func.return"(', 1)
    lines = [
        '"builtin.module"() <{sym_name = "body"}> ({',
        *graph.functions.values(),
        f'  "func.func"() <{{function_type = ({takes}) -> ({gives}), sym_name = "main"}}> ({{',
        f"  ^bb0({label}):",
        *(line[2:] for line in [*inside, returned]),
        "  }) : () -> ()",
        "}) : () -> ()",
    ]
    return "\n".join(lines) + "\n"


# Tries in a compiler


@dataclass(frozen=True)
class Trial:
    """Outcome of a subset in a compiler. expected: the right results; None if they are not known or not needed.
    results: of the worst call.
    """

    outcome: Outcome
    expected: Expected | None = None
    results: list[np.ndarray] = field(default_factory=list)

    @property
    def status(self) -> Status:
        return self.outcome.status

    def has_same_fault(self, other: Trial) -> bool:
        return (self.status, self.outcome.signature) == (other.status, other.outcome.signature)


def judged(calls: Sequence[list[np.ndarray]], expected: Expected) -> Trial:
    """Return the outcome of calls with the same arguments: the worst one's."""
    if expected.reason:
        return Trial(Outcome(Status.NOT_JUDGED, expected.reason), None, calls[0])
    names = judge.output_names(len(calls[0]))
    verdicts = [
        judge.judge(check.keyed("call", 0, dict(zip(names, results, strict=True))), expected)
        for results in calls
    ]
    if None in verdicts:
        return Trial(Outcome(Status.NOT_JUDGED, expected.left_open), None, calls[0])
    worst = max(range(len(calls)), key=lambda call: verdicts[call]["wrong"])
    verdict = judge.worst(verdicts)
    if problem := judge.problem(verdict):
        return Trial(Outcome(Status.WRONG, problem, "wrong"), expected, calls[worst])
    return Trial(Outcome(Status.OK, f"largest error {verdict['largest']:.1e}"), expected, calls[worst])


class Trials:
    """Tries subsets of a program with the values that its operations get in the whole program.

    arguments: of the program. is_interpreted: whether the interpreter judges what it can.
    """

    def __init__(
        self,
        suspect: Worker,
        evaluator: Worker,
        graph: Graph,
        arguments: Iterable[np.ndarray],
        is_interpreted: bool = False,
    ) -> None:
        self.suspect, self.evaluator, self.subsets = suspect, evaluator, Subsets(graph)
        self.is_interpreted = is_interpreted
        self._graph, self._label, self._count = graph, next(_LABELS), 0
        self._saved: dict[int, np.ndarray] = dict(zip(graph.arguments, arguments, strict=True))

    def text(self, subset: Subset) -> str:
        """Return a subset as a compiler is given it: IREE's rewriting reads the short form alone.

        :raises ValueError: for a constant that cannot be spelled out.
        :raises Failed: if the evaluator cannot print it.
        """
        text = self.subsets.text(subset, self.arrays(subset.literals))
        return text if self.suspect.spec.is_xla else self.evaluator.pretty(text)

    def arguments(self, subset: Subset) -> dict[int, np.ndarray]:
        """Return the values of a subset's arguments.

        :raises ElementTypeError: if NumPy does not have the type of one.
        """
        return self.arrays(self.subsets.arguments(subset))

    def arrays(self, wanted: Iterable[int]) -> dict[int, np.ndarray]:
        """Return values of the program, each in its own type."""
        wanted = list(wanted)
        if missing := [value for value in wanted if value not in self._saved]:
            self._save(missing)
        return {value: self._saved[value] for value in wanted}

    def _save(self, missing: list[int]) -> None:
        graph, types = self._graph, self._graph.types
        # One evaluation serves all trials, if the disk has room for all values.
        computed = [value for op in graph.ops for value in op.results if is_tensor(types[value])]
        if 8 * sum(size(types[value]) for value in computed) < DISK:
            missing = computed
        values = [fixed(self._saved[argument]) for argument in graph.arguments]
        try:
            with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
                found = evaluate(self.evaluator, graph, values, Path(folder), sets=1, save=missing)
                arrays = [np.array(as_type(found.array(value), types[value])) for value in missing]
        except Failed:
            # Any values do: a result is judged by what follows from them.
            arrays = seeded(array_types([types[value] for value in missing]))
        self._saved |= dict(zip(missing, arrays, strict=True))

    def try_subset(
        self,
        subset: Subset,
        arrays: dict[int, np.ndarray] | None = None,
        *,
        is_judged: bool = True,
        emitted: str | bytes = "",
    ) -> Trial:
        """Return what the suspect does with a subset.

        arrays: values of its arguments; by default the program's. is_judged: whether its values matter.
        emitted: the whole program's text, to be compiled in place of the subset's, with all of its arguments.
        """
        self._count += 1
        # Values of the program are placed once for all trials, others for this one.
        prefix = f"{self._label}-" if arrays is None else f"{self._label}-{self._count}-"
        try:
            if emitted:
                arrays = self.arrays(self._graph.arguments)
            elif arrays is None:
                arrays = self.arguments(subset)
            text = emitted or self.text(subset)
        except (ValueError, KeyError, Failed) as error:
            return Trial(Outcome(Status.NOT_JUDGED, str(error)))
        try:
            calls = self._call(text, [fixed(array, f"{prefix}{value}") for value, array in arrays.items()])
        except Failed as failed:
            return Trial(replace(failed.outcome, detail=brief(failed.outcome.detail)))
        if emitted:
            places = [self._graph.results.index(value) for value in subset.results]
            calls = [[results[place] for place in places] for results in calls]
        if not is_judged:
            return Trial(Outcome(Status.NOT_JUDGED, "it runs"), results=calls[0])
        return judged(calls, self.expected(subset, arrays))

    def _call(self, text: str | bytes, arguments: Sequence[Argument]) -> list[list[np.ndarray]]:
        self.suspect.load("trial", text)
        self.suspect.place("trial", arguments)
        calls = [self.suspect.call("trial") for _ in range(CALLS)]
        self.suspect.drop("trial")
        return calls

    def expected(self, subset: Subset, arrays: dict[int, np.ndarray]) -> Expected:
        """Return the right results of a subset with these values of its arguments, or why they are not known."""
        values = {**arrays, **self.arrays(subset.literals)}
        graph = self.graph(subset)
        try:
            return expected_values(
                self.evaluator, graph, [fixed(values[value]) for value in graph.arguments], sets=1
            )
        except (Failed, GraphError) as error:
            return Expected(reason=f"no reference: {error}")

    def graph(self, subset: Subset) -> Graph:
        """Return a subset as a graph, whose arguments are the subset's and the values that it spells out."""
        arguments = [*self.subsets.arguments(subset), *subset.literals]
        ops = self.subsets.operations(subset)
        # The interpreter takes no graph without names.
        names = self._graph.names if self.is_interpreted else frozenset()
        return Graph(arguments, ops, list(subset.results), self._graph.types, self._graph.functions, names)

    def enter_loop(self, subset: Subset, op: Op, arrays: dict[int, np.ndarray]) -> Trials:
        """Return trials of the body of a loop, with values that it carries; arrays: of the subset's arguments.

        :raises Failed: if the evaluator does not take the loop's body.
        :raises GraphError: if the body cannot be taken apart.
        """
        reader, graph = self.evaluator, self.graph(subset)
        values = {**arrays, **self.arrays(subset.literals)}
        body = loop_body(graph, op)
        inner = reader.graph(body)
        reader.load("start", graph.part(graph.needed(op.reads), graph.arguments, op.reads))
        reader.load("body", body)

        def call(name: str, arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
            reader.place(name, [fixed(array, f"{name} {hash(array.tobytes())}") for array in arrays])
            return reader.call(name)

        started = dict(zip(op.reads, call("start", (values[value] for value in graph.arguments)), strict=True))
        captured = [started[value] for value in op.reads if value not in op.operands]
        carried = [started[value] for value in op.operands]
        # The first carried values are often zeros, which are right whatever the body does with them.
        for _ in range(2):
            carried = call("body", [*carried, *captured])
        reader.drop("start", "body")
        # A place of the body's text is none of the program's.
        inner = replace(inner, ops=[replace(inside, place=op.place) for inside in inner.ops])
        return Trials(self.suspect, reader, inner, [*carried, *captured], self.is_interpreted)
