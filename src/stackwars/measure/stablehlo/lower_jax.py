"""JAX's StableHLO of a workload from shapes alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.measure.stablehlo import arguments
from stackwars.measure.stablehlo.arguments import OUTPUT, Entry, Lowered, ProgramSource, Result
from stackwars.measure.workloads import parallel, values
from stackwars.measure.workloads.parallel import Division

PACKAGES = ("jax", "jaxlib")


def lower(source: ProgramSource) -> Lowered:
    """Return the program; a division is by annotation. `build` makes its weights with `arguments.leaf`."""
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
        # An optimiser's own arrays are zeros, divided as the weight with the same name is.
        made = [
            leaf
            if id(leaf) in entries
            else shape(leaf, arguments.of_array(np.asarray(leaf)), division and _axis(division, result))
            for leaf, result in zip(leaves, results, strict=False)
        ]
        parameters = (constant, jax.tree.unflatten(tree, made))
    operands = (*(parameters if updates else (parameters,)), *placed)
    lowered = jax.jit(function, donate_argnums=1 if updates else ()).lower(*operands)
    return program(lowered, [entries[id(leaf)] for leaf in jax.tree.leaves(operands)], results)


def program(lowered: Any, leaves: list[Entry], results: tuple[Result, ...] = ()) -> Lowered:
    """Return the program of JAX's `Lowered`. leaves: the entries of all its arguments."""
    import jax

    # JAX drops arguments that the program does not read; it says which ones only here.
    read = lowered._lowering.compile_args["kept_var_idx"]
    used = [entry for place, entry in enumerate(leaves) if place in read]
    results = results or arguments.outputs(len(jax.tree.leaves(lowered.out_info)))
    return Lowered(lowered.as_text(), used, results, lowered.as_text(debug_info=True))


def _dtype(array: Any) -> Any:
    return values.native_dtype(array) if isinstance(array, np.ndarray) else array.dtype


def mesh(devices: int) -> Any:
    """Return a mesh of this many devices, which are threads of the CPU."""
    import jax

    jax.config.update("jax_num_cpu_devices", devices)
    return jax.sharding.Mesh(np.array(jax.devices("cpu")), (parallel.AXIS,))


def divided(devices: Any, axis: int | None) -> Any:
    """Return the sharding of an array that is divided along this axis, or replicated."""
    import jax

    before = () if axis is None else (*(None,) * axis, parallel.AXIS)
    return jax.NamedSharding(devices, jax.P(*before))


def _axis(division: Division, result: Result) -> int | None:
    """Return the axis along which a part of the state is divided."""
    axis = division.weight_axis(result.name)
    return None if axis is None else result.axes[axis]


def _updated(leaves: Callable, state: Any) -> tuple[Result, ...]:
    """Return the results of a function that returns (new state, output)."""
    import jax

    # An array whose extents number its axes stands for each result: the view that `leaves` returns shows its
    # name and the order of its axes.
    markers = jax.tree.map(lambda leaf: np.empty(tuple(range(1, leaf.ndim + 1))), state)
    places = {
        view.__array_interface__["data"]: Result(name, tuple(extent - 1 for extent in view.shape))
        for name, view in leaves(markers).items()
    }
    result = [marker.__array_interface__["data"] for marker in jax.tree.leaves(markers)]
    return (*(places.get(one, Result("")) for one in result), Result(OUTPUT))
