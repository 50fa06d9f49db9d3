"""Ways to write a program for several devices.

A frontend is a class `(devices, precision, folder)` with TITLE, FRAMEWORK, which owns its environment, and the verbs

    run(source)     the results of one call on the devices, {name: array in torch's layout}, OUTPUT among them
    alone(source)   the same results on one device, without a division

and, once it has run, the attributes `emitted`, the program that the frontend gave to its compiler, and `optimised`,
the program that the compiler made from it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from stackwars.measure.frameworks.torch_eager import gradient_mode
from stackwars.measure.frameworks.torch_xla import unnumbered
from stackwars.measure.stablehlo import arguments, lower_jax
from stackwars.measure.stablehlo.arguments import OUTPUT, ProgramSource
from stackwars.measure.workloads import parallel
from stackwars.measure.workloads.parallel import Division


class Jax:
    """JAX by annotation: the arrays are placed in parts, and Shardy divides the program."""

    TITLE = "JAX, by annotation"
    FRAMEWORK = "jax"

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


class JaxShardMap(Jax):
    """JAX by `shard_map`: each device runs the function on its part, which names what it sends.

    A data-parallel function is the workload's; a training step's loss is the mean over all parts. A tensor-parallel
    one is the workload's `divided_in_jax`.
    """

    TITLE = "JAX, shard_map"

    def run(self, source: ProgramSource) -> dict[str, np.ndarray]:
        """Return the results of one call.

        :raises NotImplementedError: if the workload has no `divided_in_jax`.
        """
        from stackwars.measure.workloads import in_jax

        chosen = None
        if source.division.way == parallel.TENSOR:
            workload = source.division.workload

            def function(*given: Any) -> Any:
                return workload.divided_in_jax(source.sizes, in_jax.XP, self._jax, *given)

            chosen = in_jax.step(function) if workload.TRAINS else function

        mean = partial(self._jax.lax.pmean, axis_name=parallel.AXIS)
        mapped = partial(self._mapped, chosen)
        with (
            mock.patch.object(in_jax, "reduced", mean),
            mock.patch.object(self, "jitted", mapped),
        ):
            return super().run(source)

    def _mapped(self, chosen: Callable | None, function: Callable, operands: tuple) -> Any:
        """Return the jitted function, or the chosen one, mapped over the devices as its arguments are divided."""
        # An optimiser's count is on one device until the call.
        undivided = self._jax.P()
        specs = self._jax.tree.map(lambda array: getattr(array.sharding, "spec", undivided), operands)
        # A step returns the state, divided as it was, and a loss; else the output is divided as the input.
        results = (specs[1], undivided) if hasattr(function, "leaves") else specs[-1]
        mapped = self._jax.shard_map(chosen or function, mesh=self._mesh, in_specs=specs, out_specs=results)
        return self._jax.jit(mapped)


class TorchXla:
    """torch_xla by SPMD: tensors are marked with their division, and GSPMD divides the program."""

    TITLE = "torch_xla, SPMD"
    FRAMEWORK = "torch_xla"

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


FRONTENDS = {"jax": Jax, "jax_shard_map": JaxShardMap, "torch_xla": TorchXla}
