"""The elementwise chain and its sum in TensorFlow."""

import tensorflow as tf

from stackwars.workloads.elementwise_chain import SCALE, SHIFT


def build(sizes, seed, put):
    """Parameters (none) and the function of them and x."""
    return {}, function


def function(parameters, x):
    """(elements,) to ()."""
    return tf.reduce_sum(tf.tanh(SCALE * x + SHIFT) * tf.sigmoid(x) + tf.exp(-x * x))
