"""The feed-forward block with exact GELU in TensorFlow."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.ffn import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    up, down = parameters["up"], parameters["down"]
    hidden = tf.nn.gelu(x @ up["kernel"] + up["bias"], approximate=False)
    return hidden @ down["kernel"] + down["bias"]
