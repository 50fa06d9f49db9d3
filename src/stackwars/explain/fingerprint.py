"""What tells whether two arrays can have the same elements in another order."""

from __future__ import annotations

from typing import Any

import numpy as np

SAMPLE = 1 << 16
LEAST = 8
"""Elements that an array needs to be told from another."""


def fingerprint(array: np.ndarray) -> dict[str, Any]:
    """Return size, kind, whether it is informative, and six moments of the finite elements.

    Moments: the root mean square, and relative to it the mean absolute value, the mean cube of the absolute
    value, the largest, the smallest and the mean element. They do not depend on the order of the elements.
    """
    flat = array.reshape(-1)
    kind = "f" if array.dtype.kind in "fV" or array.dtype.name == "bfloat16" else array.dtype.kind
    if kind == "c":
        flat = flat.view(flat.real.dtype)
    return {"size": array.size, "kind": kind, "informative": is_informative(array), "moments": moments(flat)}


def is_informative(array: np.ndarray) -> bool:
    """Return whether an array has enough different elements to be matched: no constant, mask or broadcast."""
    sample = np.unique(array.reshape(-1)[:SAMPLE])
    return array.size > LEAST and sample.size > max(4, min(array.size, SAMPLE) // 20)


def moments(flat: np.ndarray) -> list[float]:
    """Return the six moments of `fingerprint`."""
    x = flat.astype(np.float64)
    if not np.isfinite(x).all():
        x = x[np.isfinite(x)]
    if not x.size:
        return [0.0] * 6
    absolute = np.abs(x)
    scale = max(float(np.sqrt(np.mean(absolute * absolute))), 1e-300)
    absolute /= scale
    cube = float(np.mean(absolute * absolute * absolute))
    return [scale, float(absolute.mean()), cube, *(float(one) / scale for one in (x.max(), x.min(), x.mean()))]
