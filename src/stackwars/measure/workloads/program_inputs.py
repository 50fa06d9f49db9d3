"""Inputs of a program file: arrays from what its `inputs()` returns.

A value is a shape, (type, shape), (type, shape, high) or an array. Floating-point values are drawn from the standard
normal distribution, integers uniformly from [0, high). They depend on the seed and the input's name alone, so every
process makes the same ones.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stackwars.core.types import read_npz
from stackwars.measure.workloads import values
from stackwars.measure.workloads.base import ProgramFileError
from stackwars.measure.workloads.values import BFLOAT16, BFloat16

FLOATS = ("float32", "float16", BFLOAT16, "float64")
INTEGERS = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
TYPES = (*FLOATS, *INTEGERS, "bool")
HIGH = 100
"""Integers are below it unless a program file says otherwise."""


class Spec(NamedTuple):
    """An input to draw: its element type, shape, and the number that integers are below."""

    type: str
    shape: tuple[int, ...]
    high: int = HIGH


def spec(name: str, given: Any) -> Spec | np.ndarray:
    """Return what to draw for an input, or the array that it is.

    :raises ValueError: for a value of another form, and for an element type that is not supported.
    """
    if isinstance(given, np.ndarray | np.generic):
        return _array(name, np.asarray(given))
    if _is_shape(given):
        return Spec("float32", tuple(map(int, given)))
    if not (isinstance(given, tuple | list) and len(given) in (2, 3) and isinstance(given[0], str)):
        raise ValueError(
            f'expected {name} to be a shape such as (8, 3), ("int32", (8, 3), 100) or a NumPy array, got {given!r}'
        )
    kind, extents, *high = given
    if kind not in TYPES:
        raise ValueError(f"expected {name} to have one of the types {', '.join(TYPES)}, got {kind!r}")
    if not _is_shape(extents):
        raise ValueError(f"expected {name} to have a shape such as (8, 3), got {extents!r}")
    if high and (kind not in INTEGERS or not isinstance(high[0], int) or high[0] < 1):
        raise ValueError(f"expected {name} to have a number above 0 that its integers are below, got {given!r}")
    if high and high[0] > np.iinfo(kind).max + 1:
        raise ValueError(f"expected {name} to have integers that {kind} can hold, got the limit {high[0]}")
    return Spec(kind, tuple(map(int, extents)), *high)


def draw(name: str, one: Spec | np.ndarray, seed: int) -> np.ndarray:
    """Return the values of an input."""
    if isinstance(one, np.ndarray):
        return one
    generator = values.generator(name, seed)
    if one.type == "bool":
        return generator.integers(2, size=one.shape, dtype=np.uint8).astype(bool)
    if one.type in INTEGERS:
        return generator.integers(one.high, size=one.shape, dtype=one.type)
    if one.type == "float64":
        return generator.standard_normal(one.shape)
    drawn = generator.standard_normal(one.shape, dtype=np.float32)
    return values.bfloat16(drawn) if one.type == BFLOAT16 else drawn.astype(one.type, copy=False)


def is_wide(one: Spec | np.ndarray) -> bool:
    """Return whether an input has elements of 64 bits, which JAX must be configured for."""
    return "64" in (one.dtype.name if isinstance(one, np.ndarray) else one.type)


def from_npz(path: Path) -> Mapping[str, np.ndarray]:
    """Return the arrays of an .npz file.

    :raises ProgramFileError: for a file of another kind.
    """
    try:
        return read_npz(path)
    except ValueError as error:
        raise ProgramFileError(str(error)) from None


def _is_shape(given: Any) -> bool:
    return isinstance(given, tuple | list) and all(
        isinstance(extent, int | np.integer) and not isinstance(extent, bool) and extent >= 0
        for extent in given
    )


def _array(name: str, array: np.ndarray) -> np.ndarray:
    if isinstance(array, BFloat16):
        return array
    if array.dtype.name == BFLOAT16:
        return values.bfloat16(array.astype(np.float32))
    if array.dtype.name not in TYPES:
        raise ValueError(f"expected {name} to have one of the types {', '.join(TYPES)}, got {array.dtype}")
    return array
