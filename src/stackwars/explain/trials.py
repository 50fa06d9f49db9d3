"""Try subsets of a program's operations in a suspect compiler, with the values that they get in the program.

A result is judged by the values of each operation alone in float64, from the same arguments, or by the StableHLO
interpreter, which may take seconds for a trial.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from stackwars.core import check, judge
from stackwars.core.client import Worker
from stackwars.core.evaluate import evaluate
from stackwars.core.judge import Expected, expected_values
from stackwars.core.outcome import Failed, Outcome, Status, brief
from stackwars.core.program import Argument, Graph, GraphError, Op, fixed
from stackwars.core.types import as_type, is_tensor, size
from stackwars.explain.reduction import Subset, Subsets, loop_body
from stackwars.explain.reproducer import array_types, seeded

CALLS = 2
"""Calls of a program: some faults come and go."""
DISK = 4 << 30
"""Bytes of intermediate values that are saved at once."""
_LABELS = itertools.count()
"""Labels of the arrays in a worker, which several programs share."""


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

        arrays: values of its arguments; by default those of the program. is_judged: whether its values matter.
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
