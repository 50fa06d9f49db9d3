"""torchax's StableHLO of a workload from shapes alone: the PyTorch module traced by JAX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stackwars.measure.frameworks import torchax as in_torchax
from stackwars.measure.stablehlo import arguments, lower_jax
from stackwars.measure.stablehlo.arguments import Entry, Lowered, ProgramSource
from stackwars.measure.workloads import values

PACKAGES = ("jax", "jaxlib", "torch", "torchax")
IN_PLACE = "of what updates itself, torchax is lowered for a training step; this module writes into its buffers"


def lower(source: ProgramSource) -> Lowered:
    """Return the program of the function that `frameworks.torchax` traces.

    `build` makes its weights with `arguments.leaf`. A tied weight is one argument; a buffer of the module is an
    argument too.

    :raises NotImplementedError: for a module that updates anything but weights in a training step.
    """
    import jax
    import torch
    import torchax

    jax.config.update("jax_default_matmul_precision", source.precision)
    placed: list[tuple[Entry, torch.Tensor]] = []
    arrays: dict[int, np.ndarray] = {}

    def put(array: np.ndarray) -> Any:
        # A weight is never written, and so takes no memory.
        tensor = torch.from_numpy(np.asarray(array))
        arrays[tensor.data_ptr()] = array
        placed.append((arguments.of_array(array), tensor))
        return tensor

    module = source.build(source.sizes, source.seed, put)
    environment = torchax.default_env()
    if hasattr(module, "leaves"):
        if not hasattr(module, "model"):
            raise NotImplementedError(IN_PLACE)
        named = dict(module.model.named_parameters())
        weights = {name: arrays[leaf.data_ptr()] for name, leaf in named.items()}

        def step(sizes: dict, seed: int, put: Callable) -> tuple:
            placed = {name: put(leaf) for name, leaf in weights.items()}
            return in_torchax.stepping(module.model, environment, placed)

        return lower_jax.lower(replace(source, build=step))

    known = {tensor.data_ptr(): entry for entry, tensor in placed}
    named = dict([*module.named_parameters(), *module.named_buffers()])
    entries = {name: known[leaf.data_ptr()] for name, leaf in named.items()}
    parameters = {name: _shape(jax, leaf.shape, leaf.numpy().dtype) for name, leaf in named.items()}
    shapes = [_shape(jax, array.shape, values.native_dtype(array)) for array in source.inputs.values()]
    lowered = jax.jit(in_torchax.pure(module, environment)).lower(parameters, *shapes)
    # JAX orders a dictionary by its keys.
    leaves = [entries[name] for name in sorted(named)] + [Entry("input", name) for name in source.inputs]
    return lower_jax.program(lowered, leaves)


def _shape(jax: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Return the shape of an array as JAX places it: without 64-bit types."""
    return jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype))
