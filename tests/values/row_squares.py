"""Sum of squares of a matrix times each row (jax-ml/jax issue 39103).

jaxlib 0.10.2 hands the reduction to YNN, and each row over 32,768 gets the value of an earlier row, here of that
128 rows before: with 32,769 rows the last one is wrong. 32,768 rows are right, and so are rows of 2, 4, 5, 6 or 7
elements, and TensorFlow's program, a product of two matrices.
"""

from stackwars.workloads.base import Workload, float64

ISSUE = "jax-ml/jax issue 39103"
TITLE = "Squares of rows"
FAULT_SIZES = {"rows": 32769, "columns": 3}
PROGRAMS = ("jax", "torch_xla", "torchax", "torch_tpu", "torch_tpu_undecomposed")
FAULTS = {"jaxlib-0.10.2": dict.fromkeys(PROGRAMS, "wrong")}
CURE = "xla_cpu_experimental_ynn_fusion_type=-reduce"


class RowSquares(Workload):
    """|m row|^2 of each row."""

    TITLE, TABLE, ORDER = TITLE, "other", 920
    SIZES = {"rows": "rows", "columns": "elements of a row"}
    INPUTS = {"x": ("rows", "columns"), "m": ("columns", "columns")}
    OUTPUT = ("rows",)

    def reference(self, weights, inputs):
        x = float64(inputs)
        return ((x["x"] @ x["m"].T) ** 2).sum(1)

    def in_jax(self, sizes, jax, weights, x, m):
        return jax.vmap(lambda row: jax.numpy.sum((m @ row) ** 2))(x)

    def in_numpy(self, sizes, weights, x, m):
        return ((x @ m.T) ** 2).sum(1)

    def in_tensorflow(self, sizes, tf, weights, x, m):
        return tf.reduce_sum(tf.linalg.matmul(x, m, transpose_b=True) ** 2, axis=1)

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, x, m):
                return torch.vmap(lambda row: ((m @ row) ** 2).sum())(x)

        return Module()


WORKLOAD = RowSquares()
