"""JAX on several devices by `shard_map`: each runs the function on its part, which names what it sends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from stackwars.measure.stablehlo import sharded_jax
from stackwars.measure.stablehlo.arguments import ProgramSource
from stackwars.measure.workloads import parallel

TITLE = "JAX, shard_map"
FRAMEWORK = "jax"


class Session(sharded_jax.Session):
    """The session of `sharded_jax` with the function mapped over the devices.

    A data-parallel function is the workload's; a training step's loss is the mean over all parts. A tensor-parallel
    one is the workload's `divided_in_jax(sizes)`, which names what it sends.
    """

    def run(self, source: ProgramSource) -> dict[str, np.ndarray]:
        """Return the results of one call.

        :raises NotImplementedError: if the workload has no `divided_in_jax`.
        """
        from stackwars.measure.workloads import in_jax, training_jax

        chosen = None
        if source.division.way == parallel.TENSOR:
            workload = source.division.workload
            chosen = in_jax.divided(workload, source.sizes)
            chosen = training_jax.step(chosen) if hasattr(workload, "losses_rel") else chosen

        mean = partial(self._jax.lax.pmean, axis_name=parallel.AXIS)
        mapped = partial(self._mapped, chosen)
        with (
            mock.patch.object(training_jax, "reduced", mean),
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
