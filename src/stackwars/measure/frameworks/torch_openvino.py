"""PyTorch through OpenVINO: `openvino.convert_model` of the module, compiled for the CPU in float32.

Weights are constants of the model, which OpenVINO packs for its kernels while it compiles. By its documentation it
computes in bfloat16 by default on processors that have it. A request keeps the memory of its results: the next call
with the same inputs overwrites them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

from stackwars.measure.frameworks import Counters, mapped, torch_eager
from stackwars.measure.frameworks.numpy import aligned_copy
from stackwars.setup.device import CPU, platform

TITLE = "PyTorch (OpenVINO)"
DIALECT = torch_eager.DIALECT
COLOUR = "#c2185b"
NOTE = "OpenVINO's conversion of the module; weights are constants, packed in run 1"


class Inference:
    """A session that OpenVINO computes, in front of the session of a framework, which builds the workload.

    The first call converts the workload, by the method `converted` of the session, and compiles it.
    """

    def __init__(self, device: str, precision: str) -> None:
        super().__init__(device, precision)
        if platform(device) != CPU:
            raise RuntimeError(f"expected the CPU, for which OpenVINO is set up here; got {device}")
        # Without this package OpenVINO reports nothing to its makers.
        sys.modules.setdefault("openvino_telemetry", None)
        import openvino

        self._openvino = openvino
        self._requests: list[Any] = []
        self._trace_s = self._compile_s = 0.0

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        """Raises NotImplementedError for a workload that updates something."""
        super().build(build, sizes, seed, inputs)
        if self._leaves not in (None, dict):
            raise NotImplementedError("OpenVINO infers: a model that it converts does not update its weights")
        self._arrays = [[aligned_copy(array) for array in one.values()] for one in inputs]

    def call(self, which: int) -> Any:
        if not self._requests:
            self._compile()
        results = self._requests[which].infer(share_outputs=True).to_tuple()
        return results if len(results) > 1 else results[0]

    def fence(self, output: Any) -> None:
        """Nothing is pending: a call returns when its results are computed."""

    def fetch(self, output: Any) -> Any:
        return mapped(np.array, output)

    def counters(self) -> Counters:
        """trace_s: the conversion, with the framework's tracing."""
        return Counters(int(bool(self._requests)), 0, self._trace_s, self._compile_s)

    def stablehlo(self) -> str:
        return "// no program: OpenVINO compiles its own representation, not StableHLO\n"

    def versions(self) -> dict[str, str]:
        return {**super().versions(), "openvino": metadata.version("openvino")}

    def _compile(self) -> None:
        """Raises NotImplementedError for a workload that OpenVINO does not convert or compile."""
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            # The cores of this process, as every other framework uses them.
            "INFERENCE_NUM_THREADS": len(os.sched_getaffinity(0)),
            "ENABLE_HYPER_THREADING": True,
            "ENABLE_CPU_PINNING": False,
        }
        start = time.perf_counter()
        try:
            model = self.converted()
            model.reshape({place: list(array.shape) for place, array in enumerate(self._arrays[0])})
            self._trace_s = time.perf_counter() - start
            compiled = self._openvino.Core().compile_model(model, "CPU", settings)
            self._compile_s = time.perf_counter() - start - self._trace_s
        except Exception as error:
            raise NotImplementedError(f"OpenVINO: {reason(str(error))}") from error
        precision = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
        if precision != "f32":
            raise RuntimeError(f"expected OpenVINO to compute in f32, got {precision}; fix: its settings")
        for arrays in self._arrays:
            self._requests.append(compiled.create_infer_request())
            for place, array in enumerate(arrays):
                self._requests[-1].set_input_tensor(place, self._openvino.Tensor(array, shared_memory=True))


def reason(message: str) -> str:
    """Return the lines with which OpenVINO sums up what it does not convert; the first line if there are none."""
    lines = [line.strip("- \t") for line in message.splitlines()]
    found = [line for line in lines if line.startswith(("No conversion rule", "Conversion is failed"))]
    return "; ".join(found) or lines[0]


class Session(Inference, torch_eager.Session):
    """One process's use of OpenVINO with PyTorch. The verbs are described in `stackwars.measure.frameworks`."""

    def converted(self) -> Any:
        """Return the module as a model of OpenVINO."""
        with self._torch.no_grad():
            return self._openvino.convert_model(self._module, example_input=tuple(self._inputs[0]))
