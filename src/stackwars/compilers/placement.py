"""Puts the arguments of several programs on one device, each leaf once for each layout in use."""

from __future__ import annotations

import math
import resource
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stackwars import workloads
from stackwars.compilers.arguments import Entry

Put = Callable[[np.ndarray], Any]
"""Places an array on the device, and returns the buffer once it is there."""


def check_memory(name: str, entries: list[Entry]) -> None:
    """Raise MemoryError where a program's weights alone are over what this process may use.

    Without it the weights would be made until the last one fails: minutes for a certain end.
    """
    cap, _ = resource.getrlimit(resource.RLIMIT_DATA)
    weights = sum(4 * math.prod(entry.shape) for entry in entries if entry.kind == "weight")
    if cap != resource.RLIM_INFINITY and weights > cap:
        raise MemoryError(
            f"Unable to allocate the weights of {name}: they are {weights / 2**30:.1f} GiB, this "
            f"process may use {cap / 2**30:.1f} GiB"
        )


def place(programs: dict[str, Any], arguments: dict[str, list[Entry]], spec: dict, put: Put) -> None:
    """Fill the buffers of every program. spec: workload, sizes and settings with the seed; put: the compiler's.

    A weight is made, put in every layout that any program wants, and dropped: the machine holds the
    device's copies and one leaf more. Programs that want the same values in the same layout share
    one buffer; no program writes to its arguments. Raises ValueError where a program and its list of
    arguments differ.
    """
    seed = spec["settings"]["seed"]
    sets = workloads.load(spec["workload"]).input_sets(spec["sizes"], seed)
    for made, layouts in _wanted(programs, arguments).items():
        # Only inputs differ from one set to the other.
        varied = made.kind == "input"
        for number, inputs in enumerate(sets if varied else sets[:1]):
            slots = [number] if varied else range(len(sets))
            value = made.value(seed, inputs)
            for (axes, shape, dtype), users in layouts.items():
                transposed = value.transpose(axes) if made.kind == "weight" else value
                if _long(transposed.shape) != _long(shape):
                    raise ValueError(
                        f"argument {users[0][1]} of {users[0][0]}, {made.kind} {made.name}: expected "
                        f"the program's shape {shape}, got {transposed.shape}. Lower the workload again."
                    )
                buffer = put(transposed.reshape(shape).astype(dtype, copy=False))
                for name, position in users:
                    for slot in slots:
                        programs[name].buffers[slot][position] = buffer


def _wanted(
    programs: dict[str, Any], arguments: dict[str, list[Entry]]
) -> dict[Entry, dict[tuple, list[tuple[str, int]]]]:
    """{what to make: {(axes, shape, dtype) in a program: [(program, position)]}}."""
    wanted: dict[Entry, dict[tuple, list]] = defaultdict(lambda: defaultdict(list))
    for name, program in programs.items():
        entries = arguments[name]
        if len(entries) != len(program.types):
            raise ValueError(
                f"{name}: the program has {len(program.types)} arguments, its list {len(entries)}: "
                "they are not of one lowering. Lower the workload again."
            )
        for position, (entry, kind) in enumerate(zip(entries, program.types, strict=True)):
            # What is made has torch's axes, so that it serves every layout.
            made = replace(entry, axes=tuple(range(len(entry.axes))))
            wanted[made][entry.axes, *kind].append((name, position))
    return wanted


def _long(shape: tuple[int, ...]) -> list[int]:
    """The extents other than 1: a program may have more or fewer of those than its list says."""
    return [extent for extent in shape if extent != 1]
