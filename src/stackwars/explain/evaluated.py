"""The values of a program's operations, each evaluated alone: nothing is fused, folded or simplified."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.explain.graph import Graph, Op, is_tensor, shape
from stackwars.explain.worker import single_texts
from stackwars.explain.workers import Worker
from stackwars.workloads.base import INPUT_SETS

Values = Sequence[Callable[[int], np.ndarray]]
"""For each argument of a program a function that returns its value in a set of inputs."""


class Evaluated:
    """Fingerprints of all values of a graph in the first set of inputs, and the arrays of informative ones."""

    def __init__(self, folder: Path, prints: dict[int, dict[str, Any]], files: dict[int, list[Path]]) -> None:
        self._folder, self._prints, self._files = folder, prints, files

    def print(self, value: int) -> dict[str, Any]:
        """Return the `fingerprint.fingerprint` of a value."""
        return self._prints[value]

    def is_informative(self, value: int) -> bool:
        """Return whether the value can be told from others."""
        return value in self._prints and self._prints[value]["informative"]

    def array(self, value: int, number: int = 0) -> np.ndarray:
        """Return a value as it is on disk, in float64 if it is a float; an argument as it was given.

        Raises KeyError for a value that was not saved.
        """
        if value in self._files:
            files = self._files[value]
            return np.load(files[number % len(files)], mmap_mode="r")
        path = self._folder / f"{number}-{value}.npy"
        if not path.exists():
            raise KeyError(f"value {value} was not saved")
        return np.load(path, mmap_mode="r")


def evaluate(
    worker: Worker,
    graph: Graph,
    values: Values,
    folder: Path,
    *,
    double: bool = True,
    sets: int = INPUT_SETS,
    save: Iterable[int] | None = None,
) -> Evaluated:
    """Evaluate every operation alone in XLA.

    worker: of an XLA that is not the suspect if values are to be judged. folder: for the arrays, a few times
    the size of the values; must exist. double: floats in float64. save: values whose arrays are wanted; by
    default informative ones and the program's results. Raises Refused for an operation that the compiler does
    not take alone.
    """
    # The arguments of one program may be those of another, and both are evaluated in one folder of a worker.
    files = {
        argument: _write(folder, argument, get) for argument, get in zip(graph.arguments, values, strict=True)
    }
    texts: dict[str, list[str]] = {}
    last = _last_reads(graph)
    steps = []
    for op in graph.ops:
        key = f"{op.form()} : {[graph.types[value] for value in op.reads]}{'' if double else ' as it is'}"
        if key not in texts:
            plain = graph.part([op], op.reads, op.results)
            texts[key] = single_texts(plain) if double else [plain, plain]
        free = list(last[op.number])
        steps.append({"key": key, "reads": list(op.reads), "results": list(op.results), "free": free})
    job = {
        "texts": texts,
        "steps": steps,
        "arguments": {value: [str(path) for path in paths] for value, paths in files.items()},
        "sets": sets,
        "save": list(graph.results) if save is None else list(save),
        "save_informative": save is None,
        "folder": str(folder),
    }
    path = folder / "evaluate.json"
    path.write_text(json.dumps(job))
    prints = worker.evaluate(path)
    return Evaluated(folder, {int(value): found for value, found in prints.items()}, files)


def results(worker: Worker, graph: Graph, values: Values, *, double: bool, sets: int) -> list[list[np.ndarray]]:
    """Return a program's results in each set of inputs, as `evaluate` evaluates them."""
    with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
        found = evaluate(worker, graph, values, Path(folder), double=double, sets=sets, save=graph.results)
        return [
            [np.array(found.array(value, number)).reshape(shape(graph.types[value])) for value in graph.results]
            for number in range(sets)
        ]


def _write(folder: Path, argument: int, get: Callable[[int], np.ndarray]) -> list[Path]:
    """Write an argument's values; one file if all sets have the same."""
    paths = []
    for number in range(1 if getattr(get, "is_fixed", False) else INPUT_SETS):
        paths.append(folder / f"argument-{argument}-{number}.npy")
        np.save(paths[-1], np.asarray(get(number)))
    return paths


def _last_reads(graph: Graph) -> dict[int, list[int]]:
    """Return {number of an operation: the values that no later one reads}, but for the program's results."""
    last: dict[int, int] = {}
    for op in graph.ops:
        last |= dict.fromkeys((*op.results, *op.reads), op.number)
    result = defaultdict(list)
    for value, number in last.items():
        if value not in graph.results:
            result[number].append(value)
    return result


def unsupported(graph: Graph) -> Op | None:
    """Return the first operation with a result that is no tensor of known extents, such as a token."""
    return next((op for op in graph.ops if not all(is_tensor(graph.types[one]) for one in op.results)), None)
