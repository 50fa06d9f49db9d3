"""One workload as both harnesses time it in an independent audit: built, compiled, ready to be called.

A third party's harness and ours alternate call by call, on one session: two processes of one program differ by
more than their harnesses do, and so do the speeds of this machine within a second.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from stackwars import workloads
from stackwars.measure.child import block
from stackwars.measure.inputs import INPUT_SETS, input_sets

VALUES = 40
"""Calls that each harness times in a process."""


class Prepared(NamedTuple):
    """Both ways to make one fenced call, on alternating sets of inputs."""

    third_party: Callable[[], None]
    """For the other harness to time."""
    ours: Callable[[], int]
    """A block of one call, as in the process of a cell: its ns."""


def prepared(spec: dict) -> Prepared:
    """The specification's workload, already called once with each set of inputs."""
    settings, sizes = spec["settings"], spec["sizes"]
    framework = import_module(f"stackwars.frameworks.{spec['framework']}")
    session = framework.Session(spec["device"], settings["matmul_precision"])
    workload = workloads.load(spec["workload"])
    build = workloads.build(spec["workload"], spec["dialect"])
    seed = settings["seed"]
    session.build(build, sizes, seed, input_sets(workload, sizes, seed))
    session.settle()
    sets = itertools.cycle(range(INPUT_SETS))
    outputs: list[Any] = [None] * INPUT_SETS

    def third_party() -> None:
        output = session.call(next(sets))
        session.fence(output)

    own_sets = itertools.cycle(range(INPUT_SETS))
    for _ in range(INPUT_SETS):
        third_party()
    return Prepared(third_party, lambda: block(session, 1, next(own_sets), outputs))
