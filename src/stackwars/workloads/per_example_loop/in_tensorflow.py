"""Gradients of every example's loss in TensorFlow, one after the other."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.per_example_grad import parameters as shapes
from stackwars.workloads.per_example_grad.in_tensorflow import gradient


def build(sizes, seed, put):
    """Parameters on the device, and the function of them, x and labels."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x, labels):
    """x (batch, features) and labels (batch,) to the gradients (batch, weights)."""
    # Over a range of Python's, which tracing unrolls; over a tensor it would become a loop of the graph.
    return tf.stack([gradient(parameters, x[row], labels[row]) for row in range(x.shape[0])])
