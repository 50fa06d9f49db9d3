"""Systems of three equations (jax-ml/jax issue 36927, of which the time is not judged here).

No frontend of PyTorch but torchax lowers `linalg.solve`: torch_xla computes it outside its compiler, which
ends a lowering with SIGABRT, and TorchTPU cannot trace it. IREE has no LAPACK, which
JAX's and torchax's programs call, and no QR decomposition, which TensorFlow's does.
"""

import numpy as np

from stackwars.workloads.base import Workload, float64

ISSUE = "jax-ml/jax issue 36927"
TITLE = "Solve"
FAULT_SIZES = {"batch": 1}
UNLOWERED = dict.fromkeys(("torch_xla", "torch_tpu", "torch_tpu_undecomposed"), "unsupported")
FAULTS = {
    "jaxlib-0.7.1": UNLOWERED,
    "jaxlib-0.10.2": UNLOWERED,
    "jaxlib-0.10.2-no-ynn": UNLOWERED,
    "iree-3.13": UNLOWERED | dict.fromkeys(("jax", "torchax", "tensorflow_xla"), "unsupported"),
}
CURE = "none found"


class Solve(Workload):
    """x of a x = b, for a batch of 3 by 3 matrices."""

    TITLE, TABLE, ORDER = TITLE, "other", 900
    SIZES = {"batch": "systems"}
    INPUTS = {"a": ("batch", 3, 3), "b": ("batch", 3, 1)}
    OUTPUT = ("batch", 3, 1)

    def reference(self, weights, inputs):
        x = float64(inputs)
        return np.linalg.solve(x["a"], x["b"])

    def in_jax(self, sizes, jax, weights, a, b):
        return jax.numpy.linalg.solve(a, b)

    def in_numpy(self, sizes, weights, a, b):
        return np.linalg.solve(a, b)

    def in_tensorflow(self, sizes, tf, weights, a, b):
        return tf.linalg.solve(a, b)

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, a, b):
                return torch.linalg.solve(a, b)

        return Module()


WORKLOAD = Solve()
