"""Values gathered from a constant (jax-ml/jax issue 33479, openxla/xla issue 34260).

jaxlib 0.7.1 folds the gather of JAX's program, whose result has another layout than its operand, into permuted
values: 0 2 4 0 2 4 in place of 0 1 2 3 4 5. One row or one column is right, and so are the other programs.
"""

import numpy as np

from stackwars.workloads.base import Workload, float64

ISSUE = "jax-ml/jax issue 33479"
TITLE = "Gather from a constant"
FAULT_SIZES = {"rows": 2, "columns": 2}
FAULTS = {"jaxlib-0.7.1": {"jax": "wrong"}}
CURE = "xla_disable_hlo_passes=constant_folding, or =algsimp"


def table(sizes):
    """Return the constant: every row is 0, 1, 2, ..."""
    return np.tile(np.arange(sizes["columns"], dtype=np.float32), (sizes["rows"], 1))


class ConstantGather(Workload):
    """Each row of a constant, gathered with the indices 0, 1, 2, ..., plus 1, times x."""

    TITLE, TABLE, ORDER = TITLE, "other", 930
    SIZES = {"rows": "rows", "columns": "elements of a row"}
    INPUTS = {"x": ("rows", "columns")}

    def reference(self, weights, inputs):
        x = float64(inputs)["x"]
        return x * (np.arange(x.shape[1]) + 1)

    def in_jax(self, sizes, jax, weights, x):
        constant, indices = jax.numpy.asarray(table(sizes)), jax.numpy.arange(sizes["columns"])
        return (jax.vmap(lambda row: row[indices])(constant) + 1) * x

    def in_numpy(self, sizes, weights, x):
        return (table(sizes)[:, np.arange(sizes["columns"])] + np.float32(1)) * x

    def in_tensorflow(self, sizes, tf, weights, x):
        gathered = tf.gather(tf.constant(table(sizes)), tf.range(sizes["columns"]), axis=1)
        return (gathered + 1) * x

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, x):
                constant = torch.arange(sizes["columns"], dtype=torch.float32, device=x.device)
                constant = constant.repeat(sizes["rows"], 1)
                indices = torch.arange(sizes["columns"], device=x.device)
                return (constant[:, indices] + 1) * x

        return Module()


WORKLOAD = ConstantGather()
