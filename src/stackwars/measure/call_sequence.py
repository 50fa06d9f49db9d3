"""A process that calls a program file's function on one set of arguments after another, and counts what the framework
does in each call: it traces, lowers, compiles, reads back, or runs a program that it has.

The framework provides the counters (`stages`), and the reasons if it logs them.
"""

from __future__ import annotations

import inspect
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import types, worker
from stackwars.core.outcome import Status
from stackwars.core.types import is_scalar
from stackwars.measure import workloads
from stackwars.measure.frameworks import each, jax, torch_inductor, torch_xla
from stackwars.measure.native import refusals
from stackwars.measure.workloads import program_inputs
from stackwars.measure.workloads.base import ProgramFileError, Workload
from stackwars.measure.workloads.functions import FORMS, Functions, line

CALLS = "calls"
JAX_EVENTS = {"traced": "jaxpr_trace", "lowered": "jaxpr_to_mlir_module", "compiled": "backend_compile"}
_LOGGERS = {"jax": "jax", "torch_inductor": "torch._dynamo.guards.__recompiles"}
_BULLETS = ("* ", "- ")
"""Prefixes of log lines that name a reason; other lines name files of this machine."""


def arguments(workload: Workload, seed: int) -> list[dict[str, Any]]:
    """Return the arguments of each call that a program file's calls() asks for, by parameter; [] without calls().

    calls() returns a dictionary for each call, of what differs from `inputs()`: an input, as `inputs()` has it or as a
    Python number, or a Python number for a further parameter, which has a default in every function of the file.
    """
    function = isinstance(workload, Functions) and workload.function(CALLS)
    if not function:
        return []
    try:
        returned = function()
    except Exception as problem:
        got = f"calls() failed: {type(problem).__name__}: {problem}"
        raise ProgramFileError(f"{workload.path.name}:{line(function)}: {got}; fix: that line") from problem
    if not isinstance(returned, list | tuple) or not all(isinstance(one, dict) for one in returned):
        expected = 'calls() to return a list such as [{}, {"x": (16, 3)}, {"scale": 0.5}]'
        raise workload.error(CALLS, expected, repr(returned)[:80], "return what differs in each call")
    plain = {**workload.inputs(workload.DEFAULTS, seed), **_further(workload)}
    result = []
    for changes in returned:
        if unknown := [name for name in changes if name not in plain]:
            expected = f"calls() to change parameters of every function ({', '.join(plain)})"
            raise workload.error(CALLS, expected, unknown[0], "a parameter with a number as its default")
        try:
            result.append(plain | {name: _value(name, one, seed) for name, one in changes.items()})
        except ValueError as problem:
            raise ProgramFileError(f"{workload.path.name}:{line(function)}: {problem}; fix: calls()") from None
    return result


def _value(name: str, value: Any, seed: int) -> Any:
    return value if is_scalar(value) else program_inputs.draw(name, program_inputs.spec(name, value), seed)


def _further(workload: Functions) -> dict[str, Any]:
    """Return {name: default} of the parameters after the inputs that every function of a file has."""
    defaults = []
    for function in filter(None, map(workload.function, FORMS)):
        parameters = [*inspect.signature(function).parameters.values()][len(workload.INPUTS) :]
        defaults.append({one.name: one.default for one in parameters if is_scalar(one.default)})
    if not defaults:
        return {}
    return {name: value for name, value in defaults[0].items() if all(name in one for one in defaults)}


class Jax(jax.Session):
    """JAX's session, which calls a function on chosen arguments and counts the stages of a call."""

    def __init__(self, device: str, precision: str) -> None:
        self._events: Counter[str] = Counter()
        super().__init__(device, precision)
        self._jax.config.update("jax_explain_cache_misses", True)

    def _listen(self, event: str, seconds: float, **further: Any) -> None:
        self._events[event] += 1
        super()._listen(event, seconds, **further)

    def hold(self, function: Callable) -> None:
        self.build(lambda *_: ((), function), {}, 0, [])

    def call_with(self, inputs: list, scalars: dict[str, Any]) -> Any:
        return self._function(*inputs, **scalars)

    def stages(self) -> dict[str, int]:
        """Return how often JAX traced, lowered and compiled since the session started."""
        return {
            stage: self._events[f"/jax/core/compile/{event}_duration"] for stage, event in JAX_EVENTS.items()
        }


class _Torch:
    """Hold and call a function in a session of PyTorch."""

    def hold(self, function: Callable) -> None:
        # Dynamo then splits the function where it reads back, as it does for a user.
        function.GRAPH_BREAKS = True
        self.build(lambda *_: function, {}, 0, [])

    def call_with(self, inputs: list, scalars: dict[str, Any]) -> Any:
        with self._mode():
            return self._module(*inputs, **scalars)


class TorchXla(_Torch, torch_xla.Session):
    """torch_xla traces in every call. A call has several programs if it reads values back."""

    def stages(self) -> dict[str, int]:
        names = ("UncachedCompile", "CachedCompile", torch_xla.READ_BACK)
        compiled, reused, read = (self._metrics.counter_value(name) or 0 for name in names)
        return {"compiled": compiled, "programs": compiled + reused, "splits": read}


class TorchInductor(_Torch, torch_inductor.Session):
    """Dynamo finds the graphs, Inductor compiles them; a graph break is counted when it is traced alone."""

    def __init__(self, device: str, precision: str) -> None:
        super().__init__(device, precision)
        self._torch._logging.set_logs(recompiles=True)
        # After 8 by default it runs the function without a compiler, which looks like a program that is reused.
        self._torch._dynamo.config.recompile_limit = 64

    def stages(self) -> dict[str, int]:
        counts = self.generated()
        return {"traced": counts["graphs"], "compiled": counts["graphs"], "splits": counts["graph_breaks"]}


SESSIONS = {"jax": Jax, "torch_xla": TorchXla, "torch_inductor": TorchInductor}


class Reasons(logging.Handler):
    """Collect a framework's messages about why it traces again."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        lines = map(str.strip, record.getMessage().splitlines())
        # Dynamo names the line of the program behind a guard.
        self.lines += [line[2:].partition("  #")[0].strip() for line in lines if line.startswith(_BULLETS)]


class Commands:
    """The command of the process: one call."""

    def __init__(self, framework: str, program: str, seed: int, precision: str) -> None:
        self._name, self._program, self._seed, self._precision = framework, program, seed, precision
        self._dialect = "jax" if framework == "jax" else "torch"
        self._reasons = Reasons()

    # Loaded by the first command, so that its answer reports what loading raises.
    @cached_property
    def _workload(self) -> Workload:
        return workloads.load(self._program)

    @cached_property
    def _calls(self) -> list[dict[str, Any]]:
        return arguments(self._workload, self._seed)

    @cached_property
    def _session(self) -> Any:
        self._workload.preload(self._dialect)
        session = SESSIONS[self._name]("cpu", self._precision)
        session.hold(self._workload.function(self._dialect))
        if self._name in _LOGGERS:
            logging.getLogger(_LOGGERS[self._name]).addHandler(self._reasons)
        return session

    def versions(self) -> dict[str, str]:
        return self._session.versions()

    def call(self, arguments: dict[str, dict[str, Any]], folder: str) -> dict[str, Any]:
        """Call the function and write its results.

        arguments: by parameter, {"call": the number of the call whose value it has} or {"value": a Python scalar}.
        Returns the stages of the call, its seconds, the framework's reasons and the number of results.
        """
        session = self._session
        values = {
            name: one["value"] if "value" in one else self._calls[one["call"]][name]
            for name, one in arguments.items()
        }
        # The function may have other names for the inputs, so they are passed by position.
        inputs = [value for name, value in values.items() if name in self._workload.INPUTS]
        placed = [session.put(value) if isinstance(value, np.ndarray) else value for value in inputs]
        session.fence(tuple(value for value in placed if hasattr(value, "shape")))
        scalars = {name: value for name, value in values.items() if name not in self._workload.INPUTS}
        self._reasons.lines.clear()
        before, stages, start = session.counters(), session.stages(), time.perf_counter()
        with refusals():
            output = self._workload.results(self._dialect, session.call_with(placed, scalars))
            session.fence(output)
        seconds = time.perf_counter() - start
        spent, after = session.counters().since(before), session.stages()
        arrays = each(session.fetch(output))
        for number, array in enumerate(arrays):
            types.save(Path(folder, f"{number}.npy"), np.asarray(array))
        return {
            **{name: after[name] - stages[name] for name in after},
            **{"seconds": seconds, "trace_s": spent.trace_s, "compile_s": spent.compile_s},
            **{"reasons": list(dict.fromkeys(self._reasons.lines)), "results": len(arrays)},
        }


def main() -> None:
    """`python -m stackwars.measure.call_sequence FRAMEWORK PROGRAM SEED PRECISION`: serve the commands."""
    framework, program, seed, precision = sys.argv[1:]
    worker.serve(Commands(framework, program, int(seed), precision), Status.ERROR)


if __name__ == "__main__":
    main()
