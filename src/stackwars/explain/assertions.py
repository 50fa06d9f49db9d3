"""Assertions about StableHLO programs, for pytest: `assert_as_fast` and `assert_right`.

Import them, or name this module in `pytest_plugins`, which makes fixtures of both. A program is text, the path of a
file, or an object with `as_text()`, such as `jax.jit(f).lower(x)`. An assertion that cannot be decided skips its test.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackwars.core import check, judge
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.numbers import ratio_interval
from stackwars.core.outcome import Status
from stackwars.core.program import Program
from stackwars.core.ratio import geometric_mean
from stackwars.explain import files, matching
from stackwars.explain.__main__ import this_compiler
from stackwars.explain.bench import WALL, robust_time

PROCESSES = 5
SECONDS = 0.5
"""Fresh processes of a ratio, and the seconds for each program in one."""


def assert_as_fast(
    a: Any,
    b: Any,
    bound: float = 0.1,
    inputs: Sequence[np.ndarray] | None = None,
    compiler: CompilerSpec | None = None,
) -> None:
    """Assert that program a takes at most 1 + bound times as long as program b, in alternating rounds.

    The ratio is of five fresh processes. The test fails if its whole 95 % interval is above 1 + bound, passes if all of
    it is at most that, and is skipped otherwise. inputs: arrays for both; random ones without them. compiler: by
    default this Python's jaxlib.

    :raises AssertionError: also if they compute different things.
    :raises Failed: if a program does not run.
    """
    compiler = compiler or this_compiler()
    with _programs([a, b], inputs, compiler) as programs:
        labels = [program.label for program in programs]
        ratios = []
        for _ in range(PROCESSES):
            with Worker(compiler) as worker:
                for program in programs:
                    worker.load(program.label, program.text)
                    worker.place(program.label, program.arguments)
                if not ratios and (differ := matching.results_differ(*map(worker.call, labels))):
                    raise AssertionError(f"expected programs of one computation, got others: {differ}")
                times = worker.time(labels, SECONDS)
                ratios.append(robust_time(times[labels[0]], WALL) / robust_time(times[labels[1]], WALL))
    found = geometric_mean(ratios)
    shown = f"expected at most {1 + bound:g} times as long, got {ratio_interval(*found)}"
    if found.low > 1 + bound:
        raise AssertionError(shown)
    if found.high > 1 + bound:
        pytest.skip(f"not decided: {shown}")


def assert_right(
    program: Any, inputs: Sequence[np.ndarray] | None = None, compiler: CompilerSpec | None = None
) -> None:
    """Assert that a compiler gives a program the right values, element by element.

    The expected values are the program's own operations in float64. inputs, compiler: see `assert_as_fast`. The test is
    skipped if nothing vouches for the values, as for random numbers.

    :raises AssertionError: if an element is wrong, or the program does not run.
    """
    compiler = compiler or this_compiler()
    with _programs([program], inputs, compiler) as (emitted,), Worker(compiler) as worker:
        graph = worker.graph(emitted.text)
        expected = judge.expected_values(worker, graph, emitted.arguments, text=emitted.text)
        outcome = check.check(worker, emitted, expected).outcome
    if outcome.status is Status.NOT_JUDGED:
        pytest.skip(f"not decided: {outcome.detail}")
    if outcome.status is not Status.OK:
        raise AssertionError(f"{outcome.status}: {outcome.detail}")


as_fast = pytest.fixture(name="assert_as_fast")(lambda: assert_as_fast)
right = pytest.fixture(name="assert_right")(lambda: assert_right)


@contextmanager
def _programs(
    sources: Sequence[Any], inputs: Sequence[np.ndarray] | None, compiler: CompilerSpec
) -> Iterator[list[Program]]:
    """Yield programs; their files live as long as the context."""
    with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
        paths = []
        for label, source in zip("ab", sources, strict=False):
            text = source.as_text() if hasattr(source, "as_text") else source
            is_text = isinstance(text, str) and "\n" in text
            paths.append(Path(folder, f"{label}.mlir") if is_text else Path(text))
            if is_text:
                paths[-1].write_text(text)
        values = Path(folder, "inputs.npz") if inputs is not None else ""
        if values:
            np.savez(values, *inputs)
        yield files.load(paths, compiler, values)
