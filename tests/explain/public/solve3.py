"""Systems of three equations (jax-ml/jax issue 36927, of which the time is not judged here).

No frontend of PyTorch but torchax lowers `linalg.solve`: torch_xla computes it outside its compiler, which
ends a lowering with SIGABRT, and TorchTPU cannot trace it. IREE has no LAPACK, which
JAX's and torchax's programs call, and no QR decomposition, which TensorFlow's does.
"""

import numpy as np

ISSUE = "jax-ml/jax issue 36927"
TITLE = "Solve"
UNLOWERED = dict.fromkeys(("torch_xla", "torch_tpu"), "unsupported")
FAULTS = {
    "jaxlib-0.7.1": UNLOWERED,
    "jaxlib-0.10.2": UNLOWERED,
    "jaxlib-0.10.2-no-ynn": UNLOWERED,
    "iree-3.13": UNLOWERED | dict.fromkeys(("jax", "torchax", "tensorflow_xla"), "unsupported"),
}
CURE = "none found"
ORDER = 900


def inputs(batch=1):
    return {"a": (batch, 3, 3), "b": (batch, 3, 1)}


def jax(a, b):
    from jax import numpy

    return numpy.linalg.solve(a, b)


def torch(a, b):
    import torch

    return torch.linalg.solve(a, b)


def numpy(a, b):
    return np.linalg.solve(a, b)


def tensorflow(a, b):
    import tensorflow as tf

    return tf.linalg.solve(a, b)
