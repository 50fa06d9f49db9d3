"""tensorflow/tensorflow 116992: largest and least of numbers, one of which is NaN."""

import numpy as np


def inputs():
    return {"x": np.asarray([np.nan, 1.0, 3.0, 2.0], np.float32), "y": np.asarray([5.0], np.float32)}


def jax(x, y):
    from jax import numpy

    return numpy.max(x), numpy.minimum(y, x)


def torch(x, y):
    import torch

    return x.amax(), torch.minimum(y, x)


def tensorflow(x, y):
    import tensorflow as tf

    return tf.reduce_max(x), tf.minimum(y, x)


def numpy(x, y):
    return x.max(), np.minimum(y, x)
