"""Tensor types as StableHLO writes them, and arrays of their elements.

NumPy has no bfloat16, 8-bit floats or narrow integers (2 and 4 bits); they come from ml_dtypes, which every compiler's
environment has. A .npy file has no name for them, so `save` and `load` use a second file for it.
"""

from __future__ import annotations

import contextlib
import math
import re
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import limits

NUMPY = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16,
    "ui32": np.uint32, "ui64": np.uint64, "complex<f32>": np.complex64, "complex<f64>": np.complex128,
}  # fmt: skip
"""Element types that NumPy has, by their names in StableHLO."""
DTYPES = dict(NUMPY)
"""All element types."""
_FURTHER = {
    "bf16": "bfloat16", "f8E4M3": "float8_e4m3", "f8E4M3FN": "float8_e4m3fn", "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz", "f8E5M2": "float8_e5m2", "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E3M4": "float8_e3m4", "i2": "int2", "ui2": "uint2", "i4": "int4", "ui4": "uint4",
}  # fmt: skip
with contextlib.suppress(ImportError):
    import ml_dtypes

    # An earlier release of a compiler pins an ml_dtypes with fewer types.
    DTYPES |= {name: getattr(ml_dtypes, other) for name, other in _FURTHER.items() if hasattr(ml_dtypes, other)}
_TYPE = re.compile(r"tensor<((?:\d+x)*)(.+)>$")


class ElementTypeError(ValueError):
    """A type that is not a tensor of known extents, or whose elements have no NumPy type."""


def shape(kind: str) -> tuple[int, ...]:
    """Return the extents of a tensor type.

    :raises ElementTypeError: for any other type, and for dynamic extents.
    """
    return tuple(int(extent) for extent in _parts(kind)[0].split("x")[:-1])


def element(kind: str) -> str:
    """Return the element type of a tensor type as MLIR writes it."""
    return _parts(kind)[1]


def dtype(kind: str) -> np.dtype:
    """Return the NumPy type of a tensor type's elements.

    :raises ElementTypeError: if there is none.
    """
    name = element(kind)
    if name not in DTYPES:
        raise ElementTypeError(f"expected elements of {', '.join(DTYPES)}, got {kind}")
    return np.dtype(DTYPES[name])


def is_tensor(kind: str) -> bool:
    """Return whether a type is a tensor of known extents whose elements have a NumPy type."""
    match = _TYPE.match(kind)
    return bool(match and "?" not in kind and match[2].partition(",")[0] in DTYPES)


def tensor(extents: Iterable[int], scalar: str) -> str:
    """Return a tensor type.

    >>> tensor((2, 3), "f32")
    'tensor<2x3xf32>'
    """
    return f"tensor<{''.join(f'{extent}x' for extent in extents)}{scalar}>"


def size(kind: str) -> int:
    """Return how many elements a tensor has."""
    return math.prod(shape(kind))


def is_float(dtype: np.dtype) -> bool:
    """Return whether elements are real floating-point numbers, of ml_dtypes too."""
    return dtype.kind == "f" or "float" in dtype.name


def is_scalar(value: object) -> bool:
    """Return whether a value is a Python number; a number of NumPy is an array."""
    return isinstance(value, bool | int | float) and not isinstance(value, np.generic)


def finfo(dtype: np.dtype) -> Any:
    """Return the limits of a floating-point type, see `numpy.finfo`."""
    return np.finfo(dtype) if dtype in (np.float16, np.float32, np.float64) else ml_dtypes.finfo(dtype)


def integer_range(dtype: np.dtype) -> tuple[int, int]:
    info = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def as_type(array: np.ndarray, kind: str) -> np.ndarray:
    """Return an array in the shape and the element type of a tensor type; values that do not fit become infinite."""
    # A mask's lowest number in float64 is an infinity in float32.
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array).astype(dtype(kind), copy=False).reshape(shape(kind))


def dtype_of(name: str) -> np.dtype:
    """Return the element type with this NumPy name, one of ml_dtypes too."""
    return np.dtype(getattr(ml_dtypes, name) if name in _FURTHER.values() else name)


def redrawn(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return random values with an array's shape and type, and about the mean and deviation of its finite elements.

    Elements of one sign keep it, and those that are not finite stay where they are. Integers have the range alone.
    """
    if array.dtype.kind == "c":
        return (redrawn(array.real, rng) + 1j * redrawn(array.imag, rng)).astype(array.dtype)
    if not array.size:
        return array
    if array.dtype == np.bool_:
        return rng.random(array.shape) < array.mean()
    if not is_float(array.dtype):
        low, high = int(plain(array).min()), int(plain(array).max())
        wide = np.uint64 if low >= 0 else np.int64
        return rng.integers(low, high, array.shape, dtype=wide, endpoint=True).astype(array.dtype)
    values = array.astype(np.float64)
    is_finite = np.isfinite(values)
    known = values[is_finite] if is_finite.any() else np.zeros(1)
    drawn = rng.normal(known.mean(), known.std(), array.shape)
    if known.min() >= 0 or known.max() <= 0:
        drawn = np.copysign(drawn, known.mean())
    return np.where(is_finite, drawn, values).astype(array.dtype)


def plain(array: np.ndarray) -> np.ndarray:
    """Return an array whose elements NumPy itself has: narrow floats in float32, narrow integers in int8."""
    if array.dtype.isbuiltin == 1:
        return array
    return array.astype(np.float32 if is_float(array.dtype) else np.int8)


def save(path: Path, array: np.ndarray) -> None:
    """Write an array's bits as a .npy file, and the name of its type, if NumPy does not have it, into a second file."""
    name = path.with_suffix(".dtype")
    if array.dtype.isbuiltin == 1:
        name.unlink(missing_ok=True)
        np.save(path, array)
        return
    name.write_text(array.dtype.name)
    np.save(path, np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}"))


def load(path: Path, *, mapped: bool = False) -> np.ndarray:
    """Return an array that `save` wrote. mapped: read from disk as it is used."""
    array = np.load(path, mmap_mode="r" if mapped else None)
    name = path.with_suffix(".dtype")
    return array.view(dtype_of(name.read_text())) if name.exists() else array


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file.

    :raises ValueError: naming the file, if it is none, is damaged or pickled, or does not fit in memory.
    """
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(member.file_size for member in file.infolist())
        if size > limits.available_memory_bytes() // 2:
            raise MemoryError(f"{size:,} bytes, more than half of the memory that is free")
        with np.load(path) as file:
            arrays = dict(file)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error, MemoryError) as error:
        got = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{path}: expected an .npz file of arrays, got {got}; fix: write it with numpy.savez"
        ) from None
    if strange := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
        raise ValueError(
            f"{path}: expected arrays, got the member {strange[0]}; fix: write it with numpy.savez"
        )
    return arrays


def _parts(kind: str) -> tuple[str, str]:
    match = _TYPE.match(kind)
    if not match or "?" in kind:
        raise ElementTypeError(f"expected a tensor of known extents, got {kind}")
    return match[1], match[2].partition(",")[0]
