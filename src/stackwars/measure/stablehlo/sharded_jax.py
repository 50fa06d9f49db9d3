"""JAX on several devices by annotation: the arrays are placed in parts, and Shardy divides the program."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.measure.stablehlo import arguments, lower_jax
from stackwars.measure.stablehlo.arguments import OUTPUT, ProgramSource
from stackwars.measure.workloads.parallel import Division

TITLE = "JAX, by annotation"
FRAMEWORK = "jax"


class Session:
    """JAX on several devices, with the verbs that `sharded` describes."""

    def __init__(self, devices: int, precision: str, folder: Path) -> None:
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax

        self._jax = jax
        jax.config.update("jax_default_matmul_precision", precision)
        self._mesh = lower_jax.mesh(devices)

    def run(self, source: ProgramSource) -> dict[str, np.ndarray]:
        put = partial(self.put, division=source.division)
        placed = [self.place(array, source.division.input_axis) for array in source.inputs.values()]
        result, self.emitted, self.optimised = self._call(*source.build(source.sizes, source.seed, put), placed)
        return result

    def alone(self, source: ProgramSource) -> dict[str, np.ndarray]:
        put = partial(self._jax.device_put, device=self._jax.devices()[0])
        placed = list(map(put, source.inputs.values()))
        result, _, _ = self._call(*source.build(source.sizes, source.seed, put), placed)
        return result

    def put(self, array: np.ndarray, division: Division) -> Any:
        """Place an array that a dialect's `build` makes: a weight in its parts."""
        return self.place(array, arguments.of_array(array).divided_axis(division))

    def place(self, array: np.ndarray, axis: int | None) -> Any:
        """Place an array on all devices, divided along an axis, or replicated."""
        return self._jax.device_put(np.asarray(array), lower_jax.divided(self._mesh, axis))

    def _call(
        self, parameters: Any, function: Callable, inputs: list[Any]
    ) -> tuple[dict[str, np.ndarray], str, str]:
        """Return (the results of one call, the program, its optimised HLO)."""
        leaves = getattr(function, "leaves", None)
        operands = (*(parameters if leaves else (parameters,)), *inputs)
        lowered = self.jitted(function, operands).lower(*operands)
        executable = lowered.compile()
        results = executable(*operands)
        state, output = results if leaves else (None, results)
        result = {OUTPUT: np.asarray(output), **(leaves(state) if leaves else {})}
        return result, lowered.as_text(), executable.as_text()

    def jitted(self, function: Callable, operands: tuple) -> Any:
        """Return the function, to be compiled for these arguments."""
        return self._jax.jit(function)
