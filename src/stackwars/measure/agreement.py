"""Whether values agree with those of a reference: how many elements are wrong, which, and by how much.

Integers, booleans and indices must be equal. Floating-point values must agree within a limit, as a whole (relative
L2 error) and element by element (error over the largest value of the reference): one wrong row of 32,769 has a
relative L2 error of 9e-6 and an element's error of 1e-3 and more. Not-a-number and infinities are values: they must
stand where the reference has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np


@dataclass(frozen=True)
class Agreement:
    """wrong: how many of `total` elements. l2, largest: relative L2 error, and the largest element's error over the
    reference's largest value; infinite if the values cannot be compared. where: which elements are wrong, in words.
    """

    wrong: int
    total: int
    l2: float
    largest: float
    where: str = ""

    @property
    def right(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        if self.right:
            return f"all {self.total:,} elements right, largest error {self.largest:.1e}"
        return (
            f"{self.wrong:,} of {self.total:,} elements wrong ({self.where}), largest error {self.largest:.1e}"
        )


def agreement(values: np.ndarray, reference: np.ndarray, limit: float) -> Agreement:
    """Compare values with a reference of the same shape; extents of 1 do not count.

    limit: of the relative L2 error and of each element's error over the reference's largest value. An element is
    wrong if its error is over the limit; if only the L2 error is over it, every element that differs is.
    """
    if _long(values.shape) != _long(reference.shape):
        where = f"expected the shape {reference.shape}, got {values.shape}"
        return Agreement(max(1, reference.size), max(1, reference.size), np.inf, np.inf, where)
    values = values.reshape(reference.shape)
    wrong, l2, largest = errors(values, reference, limit)
    where = describe(wrong)
    if reference.dtype.kind not in "fc" or values.dtype.kind not in "fc":
        where += _order(np.atleast_1d(values)[wrong], np.atleast_1d(reference)[wrong])
    return Agreement(int(wrong.sum()), wrong.size, l2, largest, where)


def errors(values: np.ndarray, reference: np.ndarray, limit: float) -> tuple[np.ndarray, float, float]:
    """Return (which elements are wrong, the L2 error, the largest) of values of the reference's shape."""
    if reference.dtype.kind not in "fc" or values.dtype.kind not in "fc":
        wrong = np.atleast_1d(values != reference)
        return wrong, float(wrong.mean()) if wrong.size else 0.0, float(wrong.any())
    precise = np.complex128 if reference.dtype.kind == "c" else np.float64
    found, expected = np.atleast_1d(values.astype(precise)), np.atleast_1d(reference.astype(precise))
    finite = np.isfinite(expected)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    misplaced = ~same & (~finite | ~np.isfinite(found))
    size = np.abs(expected[finite])
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(found - expected))
    error[misplaced] = np.inf
    scale, norm = float(size.max(initial=0.0)) or 1.0, float(np.linalg.norm(size)) or 1.0
    l2, largest = float(np.linalg.norm(error)) / norm, float(error.max(initial=0.0)) / scale
    wrong = error > limit * scale
    if l2 > limit and not wrong.any():
        wrong = error > 0
    return wrong, l2, largest


def _long(shape: tuple[int, ...]) -> list[int]:
    return [extent for extent in shape if extent != 1]


def _order(values: np.ndarray, reference: np.ndarray) -> str:
    """Return what the wrong elements have in common with the right ones: all but their order, or nothing."""
    same = values.size > 1 and np.array_equal(np.sort(values), np.sort(reference))
    return "; the right values in another order, as of equal keys in a sort" if same else ""


def describe(wrong: np.ndarray) -> str:
    """Return which elements of a mask are set: by axis if they are a product of ranges, else the first and last."""
    places = np.nonzero(wrong)
    if not places[0].size:
        return ""
    if places[0].size == wrong.size:
        return "all"
    chosen = [np.unique(axis) for axis in places]
    if prod(len(one) for one in chosen) == places[0].size:
        parts = (
            _of_axis(axis, one, extent)
            for axis, (one, extent) in enumerate(zip(chosen, wrong.shape, strict=True))
        )
        return " and ".join(filter(None, parts))
    ends = (tuple(int(axis[place]) for axis in places) for place in (0, -1))
    return "from {} to {}".format(*ends)


def _of_axis(axis: int, chosen: np.ndarray, extent: int) -> str:
    """Return which coordinates of an axis are chosen, in words; "" if all are."""
    first, last, count = int(chosen[0]), int(chosen[-1]), len(chosen)
    if count == extent:
        return ""
    steps = set(np.diff(chosen).tolist())
    if steps <= {1}:
        if count == 1 and 0 < first < extent - 1:
            return f"{first} of axis {axis}"
        if last == extent - 1:
            return f"the last {count} of axis {axis}"
        return f"the first {count} of axis {axis}" if not first else f"{first} to {last} of axis {axis}"
    if len(steps) == 1:
        return f"every {steps.pop()}. of axis {axis} from {first}"
    return f"{count} between {first} and {last} of axis {axis}"
