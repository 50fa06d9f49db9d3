"""JAX's StableHLO of a workload from shapes alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.compilers import arguments
from stackwars.compilers.arguments import OUTPUT, Entry, Lowered, ProgramSource, Result
from stackwars.workloads import parallel, values
from stackwars.workloads.parallel import Division

PACKAGES = ("jax", "jaxlib")


def lower(source: ProgramSource) -> Lowered:
    """The program; a division is by annotation. `build` makes its weights with `arguments.leaf`."""
    import jax

    jax.config.update("jax_default_matmul_precision", source.precision)
    division = source.division
    devices = division and mesh(division.devices)
    entries: dict[int, Entry] = {}

    def shape(array: Any, entry: Entry, axis: int | None) -> Any:
        sharding = devices and divided(devices, axis)
        made = jax.ShapeDtypeStruct(array.shape, _dtype(array), sharding=sharding)
        entries[id(made)] = entry
        return made

    def put(array: Any, entry: Entry | None = None) -> Any:
        entry = entry or arguments.of_array(array)
        return shape(array, entry, division and entry.divided_axis(division))

    parameters, function = source.build(source.sizes, source.seed, put)
    placed = [put(array, Entry("input", name)) for name, array in source.inputs.items()]
    updates = hasattr(function, "leaves")
    results: tuple[Result, ...] = ()
    if updates:
        constant, state = parameters
        results = _updated(function.leaves, state)
        leaves, tree = jax.tree.flatten(state)
        # What an optimiser has made for itself are arrays of zeros, divided as the weight of that name is.
        made = [
            leaf
            if id(leaf) in entries
            else shape(leaf, arguments.of_array(np.asarray(leaf)), division and _axis(division, result))
            for leaf, result in zip(leaves, results, strict=False)
        ]
        parameters = (constant, jax.tree.unflatten(tree, made))
    given = (*(parameters if updates else (parameters,)), *placed)
    lowered = jax.jit(function, donate_argnums=1 if updates else ()).lower(*given)
    # JAX drops what the program does not read; which, it says only here.
    kept = lowered._lowering.compile_args["kept_var_idx"]
    leaves = [entries[id(leaf)] for leaf in jax.tree.leaves(given)]
    used = [entry for place, entry in enumerate(leaves) if place in kept]
    results = results or arguments.outputs(len(jax.tree.leaves(lowered.out_info)))
    return Lowered(lowered.as_text(), used, results, lowered.as_text(debug_info=True))


def _dtype(array: Any) -> Any:
    return values.native_dtype(array) if isinstance(array, np.ndarray) else array.dtype


def mesh(devices: int) -> Any:
    """A mesh of so many devices, for which the CPU's threads stand."""
    import jax

    jax.config.update("jax_num_cpu_devices", devices)
    return jax.sharding.Mesh(np.array(jax.devices("cpu")), (parallel.AXIS,))


def divided(devices: Any, axis: int | None) -> Any:
    """How an array is placed on a mesh that is divided along this axis, or whole on each device."""
    import jax

    before = () if axis is None else (*(None,) * axis, parallel.AXIS)
    return jax.NamedSharding(devices, jax.P(*before))


def _axis(division: Division, result: Result) -> int | None:
    """The axis along which a part of the state is divided."""
    axis = division.weight_axis(result.name)
    return None if axis is None else result.axes[axis]


def _updated(leaves: Callable, state: Any) -> tuple[Result, ...]:
    """The results of a function that returns (new state, output)."""
    import jax

    # An array whose extents number its axes stands for each result: what `leaves` makes of it, a view, tells
    # its name and the order of its axes.
    markers = jax.tree.map(lambda leaf: np.empty(tuple(range(1, leaf.ndim + 1))), state)
    places = {
        view.__array_interface__["data"]: Result(name, tuple(extent - 1 for extent in view.shape))
        for name, view in leaves(markers).items()
    }
    result = [marker.__array_interface__["data"] for marker in jax.tree.leaves(markers)]
    return (*(places.get(one, Result("")) for one in result), Result(OUTPUT))
