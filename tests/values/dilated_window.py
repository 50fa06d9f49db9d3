"""Larger of two rows, with holes between the columns (openxla/xla issue 48714).

From 4,096 elements on, jaxlib 0.10.2 hands the window reduction of JAX's program to YNN and drops its base
dilation: 4,063 of 4,064 elements are wrong with 64 by 64. With 64 by 63 it is right. The programs that write
the holes by themselves are right. The holes are -inf.
"""

import numpy as np

from stackwars.workloads.base import Workload, float64

ISSUE = "openxla/xla issue 48714"
TITLE = "Dilated window"
FAULT_SIZES = {"rows": 64, "columns": 64}
FAULTS = {"jaxlib-0.10.2": {"jax": "wrong"}}
CURE = "xla_cpu_experimental_ynn_fusion_type=-reduce"


class DilatedWindow(Workload):
    """max(row 2 i, row 2 i + 1), and -inf between each two columns."""

    TITLE, TABLE, ORDER = TITLE, "other", 940
    SIZES = {"rows": "rows, an even number", "columns": "columns"}
    INPUTS = {"x": ("rows", "columns")}

    def output_values(self, sizes):
        return sizes["rows"] // 2 * (2 * sizes["columns"] - 1)

    def reference(self, weights, inputs):
        x = float64(inputs)["x"]
        result = np.full((x.shape[0] // 2, 2 * x.shape[1] - 1), -np.inf)
        result[:, ::2] = np.maximum(x[::2], x[1::2])
        return result

    def in_jax(self, sizes, jax, weights, x):
        window = (2, 1)
        return jax.lax.reduce_window(
            x, -jax.numpy.inf, jax.lax.max, window, window, "VALID", base_dilation=(1, 2)
        )

    def in_numpy(self, sizes, weights, x):
        result = np.full((x.shape[0] // 2, 2 * x.shape[1] - 1), -np.inf, x.dtype)
        result[:, ::2] = np.maximum(x[::2], x[1::2])
        return result

    def in_tensorflow(self, sizes, tf, weights, x):
        largest = tf.maximum(x[::2], x[1::2])
        holes = tf.fill(tf.shape(largest), -np.inf)
        return tf.reshape(tf.stack([largest, holes], axis=2), (largest.shape[0], -1))[:, :-1]

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, x):
                largest = torch.maximum(x[::2], x[1::2])
                holes = torch.full_like(largest, -torch.inf)
                return torch.stack([largest, holes], 2).reshape(largest.shape[0], -1)[:, :-1]

        return Module()


WORKLOAD = DilatedWindow()
