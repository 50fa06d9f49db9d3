"""torch_xla on several devices by SPMD: tensors are marked with their division, and GSPMD divides the program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.measure.frameworks.torch_eager import gradient_mode
from stackwars.measure.frameworks.torch_xla import unnumbered
from stackwars.measure.stablehlo import arguments
from stackwars.measure.stablehlo.arguments import OUTPUT, ProgramSource
from stackwars.measure.workloads import parallel

TITLE = "torch_xla, SPMD"
FRAMEWORK = "torch_xla"


class Session:
    """torch_xla on several devices, with the verbs that `sharded` describes."""

    def __init__(self, devices: int, precision: str, folder: Path) -> None:
        self._dumped = folder / "cache" / "dump"
        self._dumped.mkdir(parents=True)
        # XLA splits its flags at blanks, which the path of a checkout may have: the name is relative.
        flags = f"--xla_dump_to={os.path.relpath(self._dumped)} --xla_dump_hlo_as_text"
        os.environ.update(PJRT_DEVICE="CPU", CPU_NUM_DEVICES=str(devices), XLA_FLAGS=flags)
        import torch
        import torch_xla
        import torch_xla.backends
        import torch_xla.core.xla_model as xm
        import torch_xla.distributed.spmd as spmd
        import torch_xla.runtime

        torch_xla.runtime.use_spmd()
        torch_xla.backends.set_mat_mul_precision(precision)
        torch.autograd.set_multithreading_enabled(False)  # see frameworks.torch_xla
        self._torch, self._torch_xla, self._xm, self._spmd = torch, torch_xla, xm, spmd
        self._device = torch_xla.device()
        self._mesh = spmd.Mesh(np.arange(devices), (devices,), (parallel.AXIS,))

    def run(self, source: ProgramSource) -> dict[str, np.ndarray]:
        division = source.division

        def put(array: np.ndarray) -> Any:
            return self.place(array, arguments.of_array(array).divided_axis(division))

        module = source.build(source.sizes, source.seed, put)
        for name, leaf in getattr(module, "leaves", dict)().items():
            axis = division.weight_axis(name)
            # An optimiser's state is made from the weights, and not placed.
            if axis is not None and not self._torch_xla._XLAC._get_xla_sharding_spec(leaf):
                self.mark(leaf, axis)
        tensors = [self.place(a, division.input_axis) for a in source.inputs.values()]
        self._torch_xla.sync(wait=True)
        earlier = set(self._dumped.iterdir())
        with gradient_mode(self._torch, module)():
            output = module(*tensors)
        leaves = getattr(module, "leaves", dict)()
        self.emitted = unnumbered(self._xm.get_stablehlo([output, *leaves.values()]))
        self._torch_xla.sync(wait=True)
        self._xm.wait_device_ops()
        self.optimised = _largest(set(self._dumped.iterdir()) - earlier)
        return {OUTPUT: _array(output), **{name: _array(leaf) for name, leaf in leaves.items()}}

    def alone(self, source: ProgramSource) -> dict[str, np.ndarray]:
        """Return the results of eager PyTorch: torch_xla's devices are one by now."""
        module = source.build(
            source.sizes, source.seed, lambda array: self._torch.from_numpy(np.asarray(array))
        )
        with gradient_mode(self._torch, module)():
            output = module(*map(self._torch.from_numpy, source.inputs.values()))
        leaves = getattr(module, "leaves", dict)()
        return {OUTPUT: _array(output), **{name: _array(leaf) for name, leaf in leaves.items()}}

    def place(self, array: np.ndarray, axis: int | None) -> Any:
        """Place an array on all devices, divided along an axis, or replicated."""
        tensor = self._torch.from_numpy(np.asarray(array)).to(self._device)
        if axis is not None:
            self.mark(tensor, axis)
        return tensor

    def mark(self, tensor: Any, axis: int) -> None:
        """Mark a tensor as divided along an axis."""
        spec = tuple(parallel.AXIS if one == axis else None for one in range(tensor.ndim))
        self._spmd.mark_sharding(tensor, self._mesh, spec)


def _array(tensor: Any) -> np.ndarray:
    return tensor.detach().cpu().numpy()


def _largest(paths: set[Path]) -> str:
    """Return the largest optimised module of a dump: the call's."""
    result = [path for path in paths if path.name.endswith("after_optimizations.txt")]
    return max((path.read_text() for path in result), key=len)
