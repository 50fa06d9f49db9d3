"""The feed-forward block with normalisation after it in TensorFlow."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.mlp_postnorm import EPSILON
from stackwars.workloads.mlp_postnorm import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    hidden = tf.matmul(x, parameters["up.weight"]) + parameters["up.bias"]
    hidden = tf.nn.gelu(hidden, approximate=True)
    y = x + (tf.matmul(hidden, parameters["down.weight"]) + parameters["down.bias"])
    centred = y - tf.reduce_mean(y, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    normal = centred / tf.sqrt(variance + EPSILON)
    return normal * parameters["norm.weight"] + parameters["norm.bias"]
