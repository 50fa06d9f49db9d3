"""Layer normalisation in TensorFlow."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.layernorm import EPSILON
from stackwars.workloads.layernorm import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    normal = (x - mean) * tf.math.rsqrt(variance + EPSILON)
    return normal * parameters["norm"]["weight"] + parameters["norm"]["bias"]
