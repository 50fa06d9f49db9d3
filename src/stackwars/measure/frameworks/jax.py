"""JAX: `jax.jit` over a pure function, compiled by XLA."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.core.types import plain
from stackwars.measure.frameworks import Counters, each, mapped
from stackwars.measure.workloads.values import native
from stackwars.setup.device import platform

TITLE = "JAX"
DIALECT = "jax"
COLOUR = "#14213d"

_TRACING = (
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
)
_COMPILING = "/jax/core/compile/backend_compile_duration"
_CACHE_HIT = "/jax/compilation_cache/cache_hits"
_SOURCE = re.compile(r' source_file="[^"]*"| source_\w+=\d+')
"""The location of an operation in this machine's files: no part of the program."""


class Session:
    """One process's use of JAX on one device. The verbs are described in `stackwars.measure.frameworks`."""

    def __init__(self, device: str, precision: str) -> None:
        os.environ["JAX_PLATFORMS"] = platform(device)
        import jax

        self._jax = jax
        try:
            self._device = jax.devices()[0]
        except Exception as error:
            said = f"{type(error).__name__}: {str(error) or 'no message'}"
            raise RuntimeError(f"expected JAX to open a {device}, got {said}") from error
        jax.config.update("jax_default_matmul_precision", precision)
        self._compiles = 0
        self._cache_hits = 0
        self._compile_s = 0.0
        self._traced: list[tuple[float, float]] = []
        jax.monitoring.register_event_duration_secs_listener(self._listen)
        jax.monitoring.register_event_listener(self._count)

    def _listen(self, event: str, seconds: float, **_: Any) -> None:
        if event == _COMPILING:
            self._compiles += 1
            self._compile_s += seconds
        elif event in _TRACING:
            now = time.perf_counter()
            self._traced.append((now - seconds, now))

    def _count(self, event: str, **_: Any) -> None:
        self._cache_hits += event == _CACHE_HIT

    def put(self, array: np.ndarray) -> Any:
        return self._jax.device_put(native(array))

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        self._parameters, function = build(sizes, seed, self.put)
        self._leaves = getattr(function, "leaves", None)
        if self._leaves is None:
            self._function = self._jax.jit(function)
        else:
            self._function = self._jax.jit(function, donate_argnums=1)
        self._inputs = [[self.put(array) for array in one.values()] for one in inputs]

    def settle(self) -> None:
        self._jax.block_until_ready((self._parameters, self._inputs))

    def call(self, which: int) -> Any:
        if self._leaves is None:
            return self._function(self._parameters, *self._inputs[which])
        constant, state = self._parameters
        state, output = self._function(constant, state, *self._inputs[which])
        self._parameters = (constant, state)
        return output

    def fence(self, output: Any) -> None:
        for one in each(output):
            one.block_until_ready()
        if self._leaves is not None:
            self._jax.block_until_ready(self._parameters[1])

    def fetch(self, output: Any) -> Any:
        return mapped(lambda one: plain(np.asarray(one)), output)

    def state(self) -> dict[str, np.ndarray]:
        return {} if self._leaves is None else self._leaves(self._parameters[1])

    def counters(self) -> Counters:
        return Counters(self._compiles, self._cache_hits, _covered(self._traced), self._compile_s)

    def stablehlo(self) -> str:
        return self._function.lower(*self._arguments()).as_text()

    def _arguments(self) -> tuple[Any, ...]:
        given = (self._parameters,) if self._leaves is None else self._parameters
        return (*given, *self._inputs[0])

    def forms(self) -> dict[str, str]:
        traced = self._function.trace(*self._arguments())
        optimised = traced.lower().compile().as_text()
        return {"jaxpr": str(traced.jaxpr), "optimised_hlo": _SOURCE.sub("", optimised)}

    def device_kind(self) -> str:
        return self._device.device_kind

    def versions(self) -> dict[str, str]:
        import jaxlib

        return {"jax": self._jax.__version__, "jaxlib": jaxlib.__version__}


def _covered(intervals: list[tuple[float, float]]) -> float:
    """Return the seconds covered by intervals that may nest: JAX counts an inner trace in its caller's too."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
