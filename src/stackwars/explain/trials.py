"""Try parts of a program in a suspect compiler, with the values that they get in the program.

A result is judged by the values of each operation alone, in float64, from the same arguments.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.compilers import XLA
from stackwars.compilers.evaluate import unit_roundoff
from stackwars.compilers.expected import MARGIN, MOST, worst_error
from stackwars.explain.evaluated import Values, evaluate, results
from stackwars.explain.graph import Graph, GraphError, dtype, is_tensor, shape, size
from stackwars.explain.question import once
from stackwars.explain.reproducer import array_types, seeded
from stackwars.explain.trial_outcomes import (
    RIGHT,
    UNKNOWN,
    Expected,
    Outcome,
    judge,
    outcome_of,
    rounding_limit,
)
from stackwars.explain.workers import Crashed, Refused, TimedOut, Worker
from stackwars.explain.wrong import Part, Parts

CALLS = 2
"""Calls of a program: some faults come and go."""
DISK = 4 << 30
"""Bytes of intermediate values that are saved at once."""
_LABELS = itertools.count()
"""Of buffers in a worker, which several programs share."""


def start(
    worker: Worker,
    name: str,
    text: str,
    keys: Mapping[str, np.ndarray],
    options: Mapping[str, Any] | None = None,
) -> float:
    """Compile a program and bind its arguments; return the seconds of compiling.

    keys: arguments in order, each under the key of its buffer.
    """
    seconds = worker.compile(name, text, dict(options or {}))
    for key, array in keys.items():
        worker.put(key, array)
    worker.bind(name, list(keys))
    return seconds


class Trials:
    """Tries parts of a program with the values that its operations get in the whole program."""

    def __init__(self, suspect: Worker, evaluator: Worker, graph: Graph, values: Values) -> None:
        self.suspect, self.evaluator, self.parts = suspect, evaluator, Parts(graph)
        self.count, self._label = 0, next(_LABELS)
        self._graph, self._values = graph, values
        self._saved: dict[int, np.ndarray] = {}

    def text(self, part: Part) -> str:
        """Return a part as a compiler is given it: IREE's rewriting reads the short form alone."""
        text = self.parts.text(part, self.arrays(part.literals))
        return text if self.suspect.spec.module == XLA else self.evaluator.pretty(text)

    def arguments(self, part: Part) -> dict[int, np.ndarray]:
        """Return the values of a part's arguments. Raises GraphError if NumPy does not have one's type."""
        return self.arrays(self.parts.arguments(part))

    def arrays(self, wanted: Iterable[int]) -> dict[int, np.ndarray]:
        """Return values of the program, each in its own type."""
        wanted = list(wanted)
        missing = [value for value in wanted if value not in self._saved]
        if missing:
            self._save(missing)
        return {value: self._saved[value] for value in wanted}

    def _save(self, missing: list[int]) -> None:
        types = self._graph.types
        for argument, get in zip(self._graph.arguments, self._values, strict=True):
            if argument in missing:
                self._saved[argument] = np.asarray(get(0))
        missing = [value for value in missing if value not in self._saved]
        if not missing:
            return
        made = [value for op in self._graph.ops for value in op.results if is_tensor(types[value])]
        if 8 * sum(size(types[value]) for value in made) < DISK:
            missing = made
        try:
            self._evaluate(missing)
        except (Crashed, TimedOut, Refused, MemoryError):
            # Any values do: a result is judged by what follows from them.
            arrays = seeded(array_types([types[value] for value in missing]))
            self._saved |= dict(zip(missing, arrays, strict=True))

    def _evaluate(self, wanted: list[int]) -> None:
        types = self._graph.types
        with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
            found = evaluate(self.evaluator, self._graph, self._values, Path(folder), sets=1, save=wanted)
            for value in wanted:
                array = np.asarray(found.array(value))
                self._saved[value] = np.array(array.reshape(shape(types[value])), dtype(types[value]))

    def try_part(
        self,
        part: Part,
        arrays: dict[int, np.ndarray] | None = None,
        *,
        judged: bool = True,
        emitted: str = "",
    ) -> tuple[Outcome, Expected | None]:
        """Return what the suspect does with a part, and what would be right; None if it gave no values.

        arrays: values of its arguments; by default those of the program. judged: else a program that ran is right.
        emitted: the whole program's text, to be compiled in place of the part's, with all of its arguments.
        """
        self.count += 1
        prefix = f"{self._label}-" if arrays is None else f"{self._label}-{self.count}-"
        try:
            if emitted:
                arrays = self.arrays(self._graph.arguments)
            arrays = self.arguments(part) if arrays is None else arrays
            text = emitted or self.text(part)
        except (GraphError, KeyError, Refused) as error:
            return Outcome(UNKNOWN, str(error)), None
        keys = {f"{prefix}{value}": array for value, array in arrays.items()}
        try:
            start(self.suspect, "trial", text, keys)
            calls = [self.suspect.run("trial") for _ in range(CALLS)]
            self.suspect.drop("trial")
            if emitted:
                places = [self._graph.results.index(value) for value in part.results]
                calls = [[results[place] for place in places] for results in calls]
        except (Crashed, TimedOut, Refused, MemoryError) as error:
            return outcome_of(error), None
        if not judged:
            return Outcome(RIGHT, "it runs", results=calls[0]), None
        try:
            expected = self.expected(part, arrays, text)
        except (Crashed, TimedOut, Refused, MemoryError) as error:
            return Outcome(UNKNOWN, f"no reference: {error}", results=calls[0]), None
        return judge(calls, expected), expected

    def graph(self, part: Part) -> Graph:
        """Return a part as a graph, whose arguments are the part's and the values that it spells out."""
        ops = self.parts.operations(part)
        arguments = [*self.parts.arguments(part), *part.literals]
        return Graph(arguments, ops, list(part.results), self._graph.types, self._graph.functions)

    def expected(self, part: Part, arrays: dict[int, np.ndarray], text: str) -> Expected:
        """Return the right results of a part with these values of its arguments."""
        given = {**arrays, **self.arrays(part.literals)}
        graph = self.graph(part)
        values = [fixed(given[value]) for value in graph.arguments]
        exact, rounded = (
            results(self.evaluator, graph, values, double=double, sets=1)[0] for double in (True, False)
        )
        least = rounding_limit(graph, unit_roundoff(text))
        limits, certain = [], []
        for right, other in zip(exact, rounded, strict=True):
            limits.append(min(MOST, max(least, MARGIN * worst_error(other, right))))
            is_float = right.dtype.kind in "fc"
            certain.append(None if is_float or np.array_equal(right, other) else right == other)
        return Expected(exact, limits, certain)


def fixed(array: np.ndarray) -> Any:
    """Return a function that returns an array for every set of inputs."""
    return once(lambda _: array)
