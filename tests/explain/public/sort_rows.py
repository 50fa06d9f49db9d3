"""Indices that sort each row, where equal values keep their order (iree-org/iree issue 13865, of the time alone).

IREE 3.13 swaps equal neighbours although every program says is_stable = true. A row of three values with one
tie, such as 0 0 1, is enough; two values, and rows of equal values, are right. torch.topk instead of torch.sort
would promise no order of ties, and TorchTPU's and torch_xla's programs of it ask for none.
"""

import numpy as np

ISSUE = "iree-org/iree issue 13865"
UPSTREAM = "IREE: `stablehlo.sort` with `is_stable = true` swaps equal keys"
TITLE = "iree-org/iree 13865: stable order of rows with ties"
PROGRAMS = ("jax", "torch_xla", "torchax", "torch_tpu", "tensorflow_xla")
FAULTS = {"iree-3.13": dict.fromkeys(PROGRAMS, "wrong")}
CURE = "no option found; a comparator that orders equal keys by their index"
ORDER = 950


def inputs(rng, rows=8, columns=3):
    return {"x": rng.integers(2, size=(rows, columns)).astype(np.float32)}  # a row has ties


def jax(x):
    from jax import numpy

    return numpy.argsort(x, axis=1, stable=True).astype("int32")


def torch(x):
    import torch

    return torch.sort(x, dim=1, stable=True).indices.to(torch.int32)


def numpy(x):
    return np.argsort(x, axis=1, kind="stable").astype(np.int32)


def tensorflow(x):
    import tensorflow as tf

    return tf.argsort(x, axis=1, stable=True)
