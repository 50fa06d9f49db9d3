"""Indices that sort each row, where equal values keep their order (iree-org/iree issue 13865, of the time alone).

IREE 3.13 swaps equal neighbours although every program says is_stable = true. A row of three values with one
tie, such as 0 0 1, is enough; two values, and rows of equal values, are right. torch.topk instead of torch.sort
would promise no order of ties, and TorchTPU's and torch_xla's programs of it ask for none.
"""

import numpy as np

from stackwars.workloads import values
from stackwars.workloads.base import Workload

ISSUE = "iree-org/iree issue 13865"
UPSTREAM = "IREE: `stablehlo.sort` with `is_stable = true` swaps equal keys"
TITLE = "Stable sort"
FAULT_SIZES = {"rows": 8, "columns": 3}
PROGRAMS = ("jax", "torch_xla", "torchax", "torch_tpu", "torch_tpu_undecomposed", "tensorflow_xla")
FAULTS = {"iree-3.13": dict.fromkeys(PROGRAMS, "wrong")}
CURE = "no option found; a comparator that orders equal keys by their index"
KEYS = 2


class SortRows(Workload):
    """Stable argsort of rows of few different values, int32."""

    TITLE, TABLE, ORDER = TITLE, "other", 950
    SIZES = {"rows": "rows", "columns": "elements of a row"}
    INPUTS = {"x": ("rows", "columns")}

    def inputs(self, sizes, seed):
        """Return x: whole numbers below KEYS as float32, so that a row has ties."""
        shape = sizes["rows"], sizes["columns"]
        return {"x": values.tokens("x", shape, seed, KEYS).astype(np.float32)}

    def reference(self, weights, inputs):
        return np.argsort(inputs["x"], axis=1, kind="stable").astype(np.int32)

    def in_jax(self, sizes, jax, weights, x):
        return jax.numpy.argsort(x, axis=1, stable=True).astype(jax.numpy.int32)

    def in_numpy(self, sizes, weights, x):
        return self.reference(weights, {"x": x})

    def in_tensorflow(self, sizes, tf, weights, x):
        return tf.argsort(x, axis=1, stable=True)

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, x):
                return torch.sort(x, dim=1, stable=True).indices.to(torch.int32)

        return Module()


WORKLOAD = SortRows()
