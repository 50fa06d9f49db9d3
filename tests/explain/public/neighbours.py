"""Sum of squared differences of neighbours (jax-ml/jax issue 37465, of the time in jaxlib alone).

IREE 3.13 adds the terms of an axis whose differences do not fill vectors in one float32 accumulator, and so
rounds each term to the spacing of a large partial sum. The relative error is over 1e-4 with 70 elements a side:
2e-5 with 64, 4e-4 with 128, 9e-3 with 256. With 81 a side it is 1e-6.
"""

import numpy as np

ISSUE = "jax-ml/jax issue 37465"
UPSTREAM = "IREE: a float32 sum uses one accumulator"
TITLE = "Differences of neighbours"
PROGRAMS = ("jax", "torch_xla", "torchax", "torch_tpu", "tensorflow_xla")
FAULTS = {"iree-3.13": dict.fromkeys(PROGRAMS, "wrong")}
CURE = "iree-dispatch-creation-enable-split-reduction"
ORDER = 990


def inputs(side=70):
    return {"x": (side, side, side)}


def jax(x):
    from jax import numpy

    return sum(numpy.sum(numpy.diff(x, axis=axis) ** 2) for axis in range(3))


def torch(x):
    import torch

    return sum((torch.diff(x, dim=axis) ** 2).sum() for axis in range(3))


def numpy(x):
    return np.asarray(sum((np.diff(x, axis=axis) ** 2).sum() for axis in range(3)))


def tensorflow(x):
    import tensorflow as tf

    pairs = (x[1:] - x[:-1], x[:, 1:] - x[:, :-1], x[:, :, 1:] - x[:, :, :-1])
    return sum(tf.reduce_sum(pair**2) for pair in pairs)
