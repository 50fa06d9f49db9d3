"""Element types of StableHLO tensors, and what NumPy calls them."""

from __future__ import annotations

import contextlib

import numpy as np

NUMPY = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16,
    "ui32": np.uint32, "ui64": np.uint64,
}  # fmt: skip
"""Those that NumPy itself has."""
DTYPES = dict(NUMPY)
"""Those and bf16, where it can be had."""
with contextlib.suppress(ImportError):  # of compilers' environments, where JAX or IREE needs it
    import ml_dtypes

    DTYPES["bf16"] = ml_dtypes.bfloat16
