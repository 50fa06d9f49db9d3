"""Two products with ReLU between them in TensorFlow."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.two_matmuls import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x):
    """(rows, features) to the same."""
    hidden = tf.nn.relu(tf.matmul(x, parameters["a"]))
    return tf.matmul(hidden, parameters["b"])
