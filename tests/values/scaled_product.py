"""Product of a batch of matrices that are scaled first; found in attention, with no public report.

IREE 3.13 with --iree-opt-data-tiling packs the scaled matrices as if they were one, without the rows that fill each up
to a multiple of the tile: from the second matrix on, the product reads other rows. One matrix, 4 rows, one term, or 3
columns are right. At a hidden size of 33 in 3 heads, bert_base, vit_b16 and gpt_neo_1p3b are wrong for the same reason:
JAX's programs of all three, and TorchTPU's of bert_base.
"""

from stackwars.workloads.base import Workload, float64

ISSUE = ""
UPSTREAM = "IREE: data tiling mixes up the rows of a batched product"
TITLE = "Product of scaled matrices"
FAULT_SIZES = {"batch": 2, "rows": 3, "terms": 2, "columns": 4}
PROGRAMS = ("jax", "torch_xla", "torchax", "torch_tpu", "torch_tpu_undecomposed", "tensorflow_xla")
FAULTS = {"iree-3.13": dict.fromkeys(PROGRAMS, "wrong")}
CURE = "iree-opt-data-tiling=false"


class ScaledProduct(Workload):
    """(a scale) b for each matrix of a batch; scale has a factor for each column of a."""

    TITLE, TABLE, ORDER = TITLE, "other", 955
    SIZES = {
        "batch": "matrices",
        "rows": "rows of a",
        "terms": "columns of a, and rows of b",
        "columns": "columns of b",
    }
    INPUTS = {"a": ("batch", "rows", "terms"), "scale": ("terms",), "b": ("batch", "terms", "columns")}
    OUTPUT = ("batch", "rows", "columns")

    def reference(self, weights, inputs):
        x = float64(inputs)
        return (x["a"] * x["scale"]) @ x["b"]

    def in_jax(self, sizes, jax, weights, a, scale, b):
        return jax.numpy.matmul(a * scale, b)

    def in_numpy(self, sizes, weights, a, scale, b):
        return (a * scale) @ b

    def in_tensorflow(self, sizes, tf, weights, a, scale, b):
        return tf.matmul(a * scale, b)

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, a, scale, b):
                return torch.bmm(a * scale, b)

        return Module()


WORKLOAD = ScaledProduct()
