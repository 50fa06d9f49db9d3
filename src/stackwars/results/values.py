"""Single values of a table: whether one is there, and whether it is true."""

from __future__ import annotations

import math


def is_missing(value: object) -> bool:
    """True for None and for a float NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def is_true(value: object) -> bool:
    """Whether a cell of a CSV file is true: beside blanks, pandas reads neither bool nor text."""
    return str(value) == "True"
