"""The feed-forward block with ReLU in TensorFlow."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.ffn_relu import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    up, down = parameters["up"], parameters["down"]
    hidden = tf.nn.relu(x @ up["kernel"] + up["bias"])
    return hidden @ down["kernel"] + down["bias"]
