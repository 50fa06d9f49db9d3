"""A worker with a workload in a framework that has no StableHLO program: eager PyTorch, TorchInductor or NumPy.

A program that is slow in every compiler is slow compared with it. It has the methods of a compiler's worker by which
`stackwars.core.check` checks and times a program.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import judge, types, worker
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.outcome import Status
from stackwars.core.program import Argument, Program
from stackwars.measure import frameworks, workloads
from stackwars.measure.calls import timed_call
from stackwars.measure.frameworks import each

_COMPILERS = ("torch._dynamo.", "torch._inductor.", "jax.errors")
"""Modules of the exceptions that a framework raises against a program."""


class NativeWorker(Worker):
    """A process with a framework's session of one workload."""

    def __init__(
        self,
        framework: str,
        python: Path | str,
        workload: str,
        sizes: dict[str, int],
        seed: int,
        *,
        matmul_precision: str = "highest",
        cap_gib: float | str = "auto",
        timeout_s: float = 300,
    ) -> None:
        """python: the interpreter of the framework's environment."""
        job = (framework, workload, json.dumps(sizes), str(seed), matmul_precision)
        spec = CompilerSpec(framework, python=str(python))
        super().__init__(spec, command=["-m", __name__, *job], cap_gib=cap_gib, timeout_s=timeout_s)
        self._state: list[str] = []

    @property
    def program(self) -> Program:
        """The program to give to `check` and `time_together`: the names of the workload's results, and no text."""
        return Program(self.spec.name, named=self._named)

    def load(self, name: str, program: str | bytes = "", options: dict[str, Any] | None = None) -> float:
        """Build the workload; return the seconds."""
        answer = self.ask("load", name=name)
        self._types[name], self._state = None, answer["state"]
        return answer["seconds"]

    def place(self, name: str, arguments: Sequence[Argument] = (), which: int = 0) -> None:
        """Do nothing: the session has the workload's inputs."""

    def _named(self, results: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Return a call's results by name; the last ones are the state."""
        if not results:
            return {}
        names = [*judge.output_names(len(results) - len(self._state)), *self._state]
        return dict(zip(names, results, strict=True))


class Commands(worker.Commands):
    """The commands of a process with a framework's session in the place of a compiled program."""

    def __init__(self, framework: str, workload: str, sizes: dict[str, int], seed: int, precision: str) -> None:
        super().__init__(framework, "cpu", {})
        self._framework = frameworks.load(framework)
        self._workload, self._sizes, self._seed, self._precision = workload, sizes, seed, precision
        self._calls = 0

    @cached_property
    def _session(self) -> Any:
        return self._framework.Session("cpu", self._precision)

    def facts(self) -> dict[str, Any]:
        versions = {"numpy": np.__version__, **self._session.versions()}
        return {"versions": versions, "device_kind": self._session.device_kind()}

    def load(self, name: str) -> dict[str, Any]:
        """Build the workload; return the seconds that it took, and the names of what its calls update.

        A framework that compiles does so here, unless the workload updates itself: then its first call compiles.
        """
        session, start = self._session, time.perf_counter()
        build = workloads.build(self._workload, self._framework.DIALECT)
        inputs = workloads.load(self._workload).input_sets(self._sizes, self._seed)
        session.build(build, self._sizes, self._seed, inputs)
        session.settle()
        if session.counters().compiles is not None and not self._updates:
            with refusals():
                session.fence(session.call(0))
        self._programs[name], self._calls = session, 0
        gc.collect()
        return {"seconds": time.perf_counter() - start, "state": list(session.state()) if self._updates else []}

    def call(self, name: str, which: int, folder: str) -> dict[str, Any]:
        """Call the workload once and write its results, and behind them its state; return their number and the ns.

        Later results of an updating workload depend on the number of calls, so only the first call returns any.
        """
        session = self._programs[name]
        with refusals():
            output, _, ns = timed_call(session, which)
        self._calls += 1
        arrays: list[np.ndarray] = []
        if self._calls == 1 or not self._updates:
            arrays = [*each(session.fetch(output)), *(session.state().values() if self._updates else ())]
        for number, array in enumerate(arrays):
            types.save(Path(folder, f"{number}.npy"), np.asarray(array))
        return {"results": len(arrays), "ns": ns}

    @property
    def _updates(self) -> bool:
        return bool(workloads.load(self._workload).STATE)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what a framework raises against a program into a refusal; other exceptions are errors of the program."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.startswith(_COMPILERS):
            raise NotImplementedError(f"{type(error).__name__}: {error}") from error
        raise


def main() -> None:
    """`python -m stackwars.measure.native FRAMEWORK WORKLOAD SIZES SEED PRECISION`: serve the commands."""
    framework, workload, sizes, seed, precision = sys.argv[1:]
    worker.serve(Commands(framework, workload, json.loads(sizes), int(seed), precision), Status.ERROR)


if __name__ == "__main__":
    main()
