"""How far outputs or losses of several frameworks are apart, and which of them most frameworks agree with.

This judges only what has no expected values. No framework is the standard: a value is right if a strict majority
of the frameworks, this one included, has it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from stackwars.measure.checks import relative_l2

NONE = "none"
Key = TypeVar("Key")


def distances(values: dict[Key, Any], between: Callable[[Any, Any], float]) -> dict[Key, float]:
    """Return each value's distance to the others: at most this far away are enough of them for a strict majority.

    That is the lower median of its distances to the others. A value without others is left out.
    """
    result = {}
    for key, value in values.items():
        others = [between(value, other) for name, other in values.items() if name != key]
        if others:
            result[key] = statistics.median_low(others)
    return result


def judge(errors: dict[Key, float], limit: float) -> str:
    """Return ``majority of 5 frameworks``, or ``none`` if no majority agrees within the limit."""
    has_majority = any(error <= limit for error in errors.values())
    return f"majority of {len(errors)} frameworks" if has_majority else NONE


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """Return the relative L2 error of two samples of outputs; an equal NaN or infinity is no error."""
    if one.shape != other.shape:
        return float("inf")
    same = ~np.isfinite(one) & ((one == other) | (np.isnan(one) & np.isnan(other)))
    with np.errstate(invalid="ignore"):
        return relative_l2(one[~same], other[~same])
