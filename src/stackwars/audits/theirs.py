"""One workload as the independent harnesses are asked to time it: built, compiled, ready to be called."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from importlib import import_module

from stackwars.measure.inputs import INPUT_SETS, input_sets


def prepared(spec: dict) -> Callable[[], None]:
    """A fenced call of the specification's workload, on its sets of inputs in turn; already called twice."""
    settings, sizes = spec["settings"], spec["sizes"]
    framework = import_module(f"stackwars.frameworks.{spec['framework']}")
    session = framework.Session(spec["device"], settings["matmul_precision"])
    workload = import_module(f"stackwars.workloads.{spec['workload']}")
    dialect = import_module(f"stackwars.workloads.{spec['workload']}.in_{spec['dialect']}")
    seed = settings["seed"]
    session.build(dialect.build, sizes, seed, input_sets(workload, sizes, seed))
    session.settle()
    turns = itertools.cycle(range(INPUT_SETS))

    def call() -> None:
        output = session.call(next(turns))
        session.fence(output)

    for _ in range(INPUT_SETS):
        call()
    return call
