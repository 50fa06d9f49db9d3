"""JAX's StableHLO of a workload from shapes alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.compilers import arguments
from stackwars.compilers.arguments import Entry


def load() -> None:
    """Import what `lower` needs; opens no device."""
    import jax  # noqa: F401


def lower(
    build: Callable, sizes: dict, seed: int, inputs: dict[str, np.ndarray], precision: str
) -> tuple[str, list[Entry], list[Entry]]:
    """(program, its arguments in its order, weights that it does not use).

    `build` is the workload's in this dialect, and makes its weights with `arguments.leaf`.
    """
    import jax

    jax.config.update("jax_default_matmul_precision", precision)
    entries: dict[int, Entry] = {}

    def put(array: np.ndarray) -> Any:
        shape = jax.ShapeDtypeStruct(array.shape, array.dtype)
        entries[id(shape)] = arguments.of_array(array)
        return shape

    parameters, function = build(sizes, seed, put)
    shapes = {name: jax.ShapeDtypeStruct(a.shape, a.dtype) for name, a in inputs.items()}
    entries |= {id(shape): Entry("input", name) for name, shape in shapes.items()}
    lowered = jax.jit(function).lower(parameters, *shapes.values())
    # JAX drops what the program does not read; which, it says only here.
    kept = lowered._lowering.compile_args["kept_var_idx"]
    leaves = [entries[id(leaf)] for leaf in jax.tree.leaves((parameters, *shapes.values()))]
    used = [entry for place, entry in enumerate(leaves) if place in kept]
    unused = [entry for place, entry in enumerate(leaves) if place not in kept]
    return lowered.as_text(), used, unused


def versions() -> dict[str, str]:
    """Versions of what lowered it."""
    import jax
    import jaxlib

    return {"jax": jax.__version__, "jaxlib": jaxlib.__version__}
