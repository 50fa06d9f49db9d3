"""PyTorch, operation by operation: nothing is traced and nothing compiled.

On the CPU, an operation is done when it returns. On a GPU the fence waits for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stackwars.measure.frameworks import Counters, mapped
from stackwars.measure.workloads.values import BFloat16
from stackwars.setup.device import CPU, platform

TITLE = "PyTorch eager"
DIALECT = "torch"
COLOUR = "#d32f2f"


def gradient_mode(torch: Any, module: Any) -> Callable:
    """Return the context in which a module is called: without gradients unless it requests them."""
    return torch.enable_grad if getattr(module, "GRADIENTS", False) else torch.no_grad


def element(torch: Any, array: np.ndarray) -> Any:
    """Return the element type that PyTorch has for an array."""
    if isinstance(array, BFloat16):
        return torch.bfloat16
    return torch.from_numpy(np.empty(0, array.dtype)).dtype


def tensor_of(torch: Any, array: np.ndarray) -> Any:
    """Return a tensor on the host with an array's values, in the type of `element`."""
    return torch.from_numpy(np.asarray(array)).to(element(torch, array))


class Session:
    """One process's use of PyTorch on one device. The verbs are described in `stackwars.measure.frameworks`."""

    def __init__(self, device: str, precision: str) -> None:
        import torch

        self._torch = torch
        self._device = torch.device(platform(device))
        if self._device.type != CPU and not torch.cuda.is_available():
            raise RuntimeError(f"expected PyTorch to open a {device}, it finds no CUDA device")
        # The OpenMP runtime follows the affinity too, unless the environment sets another number.
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        torch.set_float32_matmul_precision(precision)
        # Convolutions on a GPU have another switch, which PyTorch leaves on; JAX's precision is for both.
        torch.backends.cudnn.allow_tf32 = precision != "highest"

    def put(self, array: np.ndarray) -> Any:
        # A copy on the CPU too: PyTorch would use NumPy's memory, which is aligned to 16 bytes and not to 64.
        return tensor_of(self._torch, array).to(self._device, copy=True)

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        self._module = build(sizes, seed, self.put)
        self._mode = gradient_mode(self._torch, self._module)
        self._leaves = getattr(self._module, "leaves", dict)
        self._inputs = [[self.put(array) for array in one.values()] for one in inputs]

    def settle(self) -> None:
        self._wait()

    def call(self, which: int) -> Any:
        with self._mode():
            return self._module(*self._inputs[which])

    def fence(self, output: Any) -> None:
        self._wait()

    def fetch(self, output: Any) -> Any:
        return mapped(partial(_values, self._torch), output)

    def state(self) -> dict[str, np.ndarray]:
        return {name: self.fetch(leaf.detach()) for name, leaf in self._leaves().items()}

    def counters(self) -> Counters:
        return Counters(compiles=None, cache_hits=0, trace_s=None, compile_s=None)

    def stablehlo(self) -> str:
        return "// no program: PyTorch eager compiles nothing\n"

    def device_kind(self) -> str:
        return CPU if self._device.type == CPU else self._torch.cuda.get_device_name()

    def versions(self) -> dict[str, str]:
        return {"torch": self._torch.__version__}

    def _wait(self) -> None:
        if self._device.type != CPU:
            self._torch.cuda.synchronize()


def _values(torch: Any, tensor: Any) -> np.ndarray:
    """Return a tensor's values; NumPy has no bfloat16, and float32 has all of its values."""
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy()
