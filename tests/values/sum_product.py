"""Sum of a product of arrays of rank 7 (jax-ml/jax issues 40412 and 39257).

From 4,096 elements on, jaxlib 0.10.2 hands the reduction to YNN, which ends the process with SIGSEGV in the
first call. With fewer elements, 1 or 3 terms, or an extent of 2 for the axis `one`, it is right.
"""

from stackwars.workloads.base import Workload, float64

ISSUE = "jax-ml/jax issue 40412"
TITLE = "Sum of products"
FAULT_SIZES = {"outer": 2, "one": 1, "terms": 2, "side": 8}
PROGRAMS = ("jax", "torch_xla", "torchax", "torch_tpu", "torch_tpu_undecomposed", "tensorflow_xla")
FAULTS = {"jaxlib-0.10.2": dict.fromkeys(PROGRAMS, "crash")}
CURE = "xla_cpu_experimental_ynn_fusion_type=-reduce"
AXES = ("outer", "one", 2, "terms", "side", "side", "side")
AXIS = 3


class SumProduct(Workload):
    """The sum of u v over the axis `terms`."""

    TITLE, TABLE, ORDER = TITLE, "other", 960
    SIZES = {
        "outer": "extent of the first axis",
        "one": "extent of the second axis",
        "terms": "extent of the axis that is summed",
        "side": "extent of each of the last three axes",
    }
    INPUTS = {"u": AXES, "v": AXES}
    OUTPUT = (*AXES[:AXIS], *AXES[AXIS + 1 :])

    def reference(self, weights, inputs):
        x = float64(inputs)
        return (x["u"] * x["v"]).sum(AXIS)

    def in_jax(self, sizes, jax, weights, u, v):
        return jax.numpy.sum(u * v, axis=AXIS)

    def in_numpy(self, sizes, weights, u, v):
        return (u * v).sum(AXIS)

    def in_tensorflow(self, sizes, tf, weights, u, v):
        return tf.reduce_sum(u * v, axis=AXIS)

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, u, v):
                return (u * v).sum(AXIS)

        return Module()


WORKLOAD = SumProduct()
