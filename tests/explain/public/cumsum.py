"""Cumulative sums of columns (jax-ml/jax issue 28097, of the time in jaxlib alone).

TorchTPU's programs are a chlo.scan: jaxlib 0.10.2 ends the process with SIGABRT while it compiles them, from one
element on, and jaxlib 0.7.1 does not know the operation. IREE copies the result in each of its steps: 8,192 by
1,024 elements take 19 to 74 s, those of FAULT_SIZES over 90 s; small ones are right. The other programs take below
0.3 s in every compiler.
"""

ISSUE = "jax-ml/jax issue 28097"
UPSTREAM = "XLA: compiling an associative `chlo.scan` for the CPU aborts"
TITLE = "Cumulative sum"
PROGRAMS = ("torch_tpu",)
FAULTS = {
    "jaxlib-0.7.1": dict.fromkeys(PROGRAMS, "unsupported"),
    "jaxlib-0.10.2": dict.fromkeys(PROGRAMS, "crash"),
    "jaxlib-0.10.2-no-ynn": dict.fromkeys(PROGRAMS, "crash"),
    "iree-3.13": dict.fromkeys(PROGRAMS, "timeout"),
}
CURE = "xla_disable_hlo_passes=associative-scan-rewriter in jaxlib 0.10.2; none found in the others"
ORDER = 970


def inputs(rows=32768, columns=256):
    return {"x": (rows, columns)}


def jax(x):
    from jax import numpy

    return numpy.cumsum(x, axis=0)


def torch(x):
    import torch

    return torch.cumsum(x, 0)


def numpy(x):
    return x.cumsum(0)


def tensorflow(x):
    import tensorflow as tf

    return tf.cumsum(x, axis=0)
