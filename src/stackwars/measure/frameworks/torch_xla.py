"""PyTorch through torch_xla's lazy tensors, compiled by XLA; weights and inputs settled before run 1."""

from __future__ import annotations

import os
import re
from typing import Any

from stackwars.measure.frameworks import Counters, each, torch_eager
from stackwars.setup.device import platform

TITLE = "torch_xla"
DIALECT = "torch"
COLOUR = "#c4571b"
READ_BACK = "aten::_local_scalar_dense"
"""The counter of `Tensor.item()`."""


def unnumbered(text: str) -> str:
    """Return the program without the number that torch_xla puts behind the module's name.

    It counts the operations before XLA merged equal ones, and may differ where the programs are the same.
    """
    return re.sub(r"^(module @\w+)\.\d+", r"\1", text)


def host_operations(metrics: Any) -> list[str]:
    """Return the operations that torch_xla computed with eager PyTorch on the host because it has no lowering.

    A value that is read back is not among them: reading computes nothing.
    """
    return sorted(name for name in metrics.counter_names() if name.startswith("aten::") and name != READ_BACK)


class Session(torch_eager.Session):
    """One process's use of torch_xla on one device. The verbs are described in `stackwars.measure.frameworks`."""

    def __init__(self, device: str, precision: str) -> None:
        os.environ["PJRT_DEVICE"] = platform(device).upper()
        import torch
        import torch_xla
        import torch_xla.backends
        import torch_xla.core.xla_model as xm
        import torch_xla.debug.metrics as metrics

        self._torch, self._torch_xla, self._xm, self._metrics = torch, torch_xla, xm, metrics
        self._device = torch_xla.device()
        result = xm.xla_device_hw(self._device)
        if result != platform(device).upper():
            raise RuntimeError(f"expected torch_xla to open a {device}, it opened a {result}")
        torch_xla.backends.set_mat_mul_precision(precision)
        # A backward pass runs in another thread, which may not have let go of a tensor when the step is
        # synchronised: the tensor becomes an output, and the program another one, now and then.
        torch.autograd.set_multithreading_enabled(False)

    def start(self) -> None:
        """Start what the calls have recorded, without waiting."""
        self._torch_xla.sync()

    def _wait(self) -> None:
        # sync(wait=True) alone returns before the device is done; wait_device_ops() does wait.
        self.start()
        self._xm.wait_device_ops()

    def counters(self) -> Counters:
        compiled = self._metrics.metric_data("CompileTime")
        count, nanoseconds = compiled[:2] if compiled else (0, 0.0)
        hits = self._metrics.counter_value("PersistentCacheHit") or 0
        # Tracing is the time inside call(), which the caller knows and this library does not report.
        return Counters(int(count), int(hits), None, nanoseconds / 1e9)

    def outside_compiler(self) -> list[str]:
        """Return the operations that ran outside the compiler, see `host_operations`."""
        return host_operations(self._metrics)

    def stablehlo(self) -> str:
        output = self.call(0)
        return unnumbered(self._xm.get_stablehlo([*each(output), *self._leaves().values()]))

    def device_kind(self) -> str:
        return self._xm.xla_device_hw(self._device)

    def versions(self) -> dict[str, str]:
        return {"torch": self._torch.__version__, "torch_xla": self._torch_xla.__version__}
