"""Rows shifted down by one (openxla/xla issue 49176).

XLA for the CPU updates the array in place while it reads it: from the third row on, every row is the first.
The programs that scatter into a slice (JAX, torchax) are wrong: 96 of 128 elements with 8 by 16, 1 of 3 with
3 by 1; with 1,024 by 1,024 the number can change from call to call. Two rows are right, and so are programs that
write the same as a pad and a select, or a concatenation.
"""

import numpy as np

from stackwars.workloads.base import Workload, float64

ISSUE = "openxla/xla issue 49176"
TITLE = "Shift rows"
FAULT_SIZES = {"rows": 3, "columns": 1}
COMPILERS = ("jaxlib-0.7.1", "jaxlib-0.10.2", "jaxlib-0.10.2-no-ynn")
FAULTS = {compiler: {"jax": "wrong", "torchax": "wrong"} for compiler in COMPILERS}
CURE = "xla_disable_hlo_passes=algsimp, or =fusion"


class ShiftRows(Workload):
    """Row i of x + 1 becomes row i + 1, and the first row stays; then a reshape."""

    TITLE, TABLE, ORDER = TITLE, "other", 910
    SIZES = {"rows": "rows", "columns": "columns"}
    INPUTS = {"x": ("rows", "columns")}
    OUTPUT = (1, "rows", "columns")

    def reference(self, weights, inputs):
        base = float64(inputs)["x"] + 1
        return np.concatenate([base[:1], base[:-1]])[None]

    def in_jax(self, sizes, jax, weights, x):
        base = x + 1
        return base.at[1:].set(base[:-1]).reshape(1, *base.shape)

    def in_arrays(self, sizes, xp, weights, x):
        base = x + 1
        return xp.reshape(xp.concatenate([base[:1], base[:-1]], axis=0), (1, *base.shape))

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, x):
                base = x + 1
                shifted = base.clone()
                shifted[1:] = base[:-1]
                return shifted.reshape(1, *base.shape)

        return Module()


WORKLOAD = ShiftRows()
