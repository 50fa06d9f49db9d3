"""TensorFlow: `tf.function(jit_compile=True)`, a whole call compiled by the XLA that TensorFlow contains."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.core.types import plain
from stackwars.measure.frameworks import Counters, each, mapped
from stackwars.measure.workloads.values import native
from stackwars.setup.device import CPU, platform

TITLE = "TensorFlow (XLA)"
DIALECT = "tensorflow"
COLOUR = "#b8860b"
DYNAMIC = (
    "its sizes depend on values: of rows that are picked and added by indices from tf.where, XLA in TensorFlow "
    "2.21 makes wrong sums, without an error or with damaged memory; without XLA they are right"
)
"""Tried on `moe_sorted`: outputs off by 0.96 to 0.98 of their norm."""


class Session:
    """One process's use of TensorFlow. The verbs are described in `stackwars.measure.frameworks`.

    precision: `highest` makes products and convolutions ask XLA for HIGHEST, which is what TensorFlow emits
    where it may not use TensorFloat-32; every other value leaves DEFAULT. On a CPU both are float32.

    The sizes of the thread pools stay as TensorFlow has them: as many threads as this process may use cores.
    """

    JIT_COMPILE = True

    def __init__(self, device: str, precision: str) -> None:
        if platform(device) != CPU:
            raise RuntimeError(f"expected the CPU, the only device of tensorflow-cpu; got {device}")
        self._tf = load()
        use_precision(precision)
        self._trace_s = 0.0

    def put(self, array: np.ndarray) -> Any:
        return self._tf.constant(native(array))

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        """Raises NotImplementedError for a function in which sizes depend on values."""
        self._parameters, self._traced = build(sizes, seed, self._variable)
        if self.JIT_COMPILE and getattr(self._traced, "SIZES_FROM_VALUES", False):
            raise NotImplementedError(DYNAMIC)
        self._leaves = getattr(self._traced, "leaves", lambda parameters: {})
        self._function = self._tf.function(self._timed_trace, jit_compile=self.JIT_COMPILE)
        self._inputs = [[self.put(array) for array in one.values()] for one in inputs]

    def _variable(self, array: np.ndarray) -> Any:
        # A function captures a variable as an argument; a tensor that it reads may be folded.
        return self._tf.Variable(self.put(array), trainable=False)

    def _timed_trace(self, *inputs: Any) -> Any:
        """Runs only while TensorFlow traces."""
        start = time.perf_counter()
        output = self._traced(self._parameters, *inputs)
        self._trace_s += time.perf_counter() - start
        return output

    def settle(self) -> None:
        """Nothing is pending: weights and inputs are in memory once they have been made."""

    def call(self, which: int) -> Any:
        return self._function(*self._inputs[which])

    def fence(self, output: Any) -> None:
        # Calls on the CPU return when they are done, unless asynchronous execution was requested. In either
        # case a view of the values waits for them, and copies nothing.
        for one in each(output):
            if one.dtype == self._tf.bfloat16:  # it has no view
                one.numpy()
            else:
                memoryview(one).release()

    def fetch(self, output: Any) -> Any:
        return mapped(lambda one: plain(one.numpy()), output)

    def state(self) -> dict[str, np.ndarray]:
        return {name: self.fetch(leaf) for name, leaf in self._leaves(self._parameters).items()}

    def counters(self) -> Counters:
        """compiles: traces, because every trace has inputs of one shape, and so one executable.

        TensorFlow does not report how long XLA took.
        """
        return Counters(self._function.experimental_get_tracing_count(), 0, self._trace_s, None)

    def stablehlo(self) -> str:
        return program(self._function, self._inputs[0])

    def device_kind(self) -> str:
        return CPU

    def versions(self) -> dict[str, str]:
        import tf_keras

        return {"tensorflow": self._tf.__version__, "tf_keras": tf_keras.__version__}


def load() -> Any:
    """Return TensorFlow, imported with oneDNN's kernels on.

    TensorFlow turns them on by itself only where the processor has AVX512-VNNI, AVX-VNNI, BF16 or AMX; without
    them its kernel of a convolution takes no NCHW, and another machine would measure another library.
    """
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
    import tensorflow

    return tensorflow


def use_precision(precision: str) -> None:
    """Make later compilations request this precision, as far as TensorFlow allows it."""
    import tensorflow

    tensorflow.config.experimental.enable_tensor_float_32_execution(precision != "highest")


def program(function: Any, inputs: list[Any]) -> str:
    """Return the StableHLO of a function compiled by XLA, for these inputs or their TensorSpecs.

    Arguments are the inputs, then the variables in the order of the trace's captures. It leaves out what
    depends on the process and not on the program: locations, which name files of this machine, and the
    module's name, which counts earlier functions.
    """
    import tensorflow

    text = function.experimental_get_compiler_ir(*inputs)(stage="stablehlo")
    # StableHLO has no operation for copies that HLO makes around loops and updates, and TensorFlow cannot parse
    # the text that it writes for them. A conversion to the same type does the same.
    text = text.replace(" = mhlo.copy ", " = stablehlo.convert ")
    text = tensorflow.mlir.experimental.run_pass_pipeline(text, "strip-debuginfo", show_debug_info=False)
    head, attributes, rest = text.partition(" attributes ")
    if not head.startswith("module @") or "\n" in head:
        raise ValueError(f"expected a module with a name and attributes; got {text[:60]!r}")
    return "module @main_module" + attributes + rest
