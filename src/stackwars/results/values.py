"""Single values of a table: whether there is one."""

from __future__ import annotations

import math


def is_missing(value: object) -> bool:
    """True for None and for a float NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))
