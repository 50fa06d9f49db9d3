"""NumPy on the CPU, operation by operation: nothing is traced and nothing compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.measure.frameworks import Counters
from stackwars.setup.device import CPU, platform

TITLE = "NumPy"
DIALECT = "numpy"
COLOUR = "#6b7a1f"
ALIGNMENT = 64
"""Bytes to which the other frameworks align arrays; NumPy by itself aligns them to 16."""


class Session:
    """One process's use of NumPy. The verbs are described in `stackwars.measure.frameworks`.

    precision is not used: products of float32 are computed in float32.
    """

    def __init__(self, device: str, precision: str) -> None:
        if platform(device) != CPU:
            raise RuntimeError(f"expected the CPU, the only device of NumPy; got {device}")

    def put(self, array: np.ndarray) -> np.ndarray:
        return aligned_copy(array)

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        self._parameters, self._function = build(sizes, seed, self.put)
        self._leaves = getattr(self._function, "leaves", lambda parameters: {})
        self._inputs = [[self.put(array) for array in one.values()] for one in inputs]

    def settle(self) -> None:
        """Nothing is pending: every operation is done when it returns."""

    def call(self, which: int) -> np.ndarray:
        return self._function(self._parameters, *self._inputs[which])

    def fence(self, output: np.ndarray) -> None:
        """Nothing is pending."""

    def fetch(self, output: Any) -> Any:
        return output

    def state(self) -> dict[str, np.ndarray]:
        return {name: leaf.copy() for name, leaf in self._leaves(self._parameters).items()}

    def counters(self) -> Counters:
        return Counters(compiles=None, cache_hits=0, trace_s=None, compile_s=None)

    def stablehlo(self) -> str:
        return "// no program: NumPy compiles nothing\n"

    def device_kind(self) -> str:
        return CPU

    def versions(self) -> dict[str, str]:
        return {"numpy": np.__version__}


def aligned_copy(array: np.ndarray) -> np.ndarray:
    """Return a contiguous copy of an array at an address that is a multiple of ALIGNMENT."""
    memory = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    result = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result
