"""tensorflow/tensorflow 120234: variance of three equal large numbers."""

import numpy as np


def inputs():
    return {"x": np.full((1, 3), 7.5e10, np.float32)}


def jax(x):
    from jax import numpy

    return numpy.var(x, axis=1)


def torch(x):
    return x.var(1, unbiased=False)


def tensorflow(x):
    import tensorflow as tf

    return tf.nn.moments(x, axes=[1])[1]
