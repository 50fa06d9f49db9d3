"""The mixture of experts in TensorFlow, a loop over the experts and the tokens of each."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.moe import parameters as shapes
from stackwars.workloads.moe.in_tensorflow import route, stacked


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""

    def function(parameters, x):
        return mixture(parameters, x, sizes["chosen"])

    function.SIZES_FROM_VALUES = True
    return fill_tree.flat(shapes(sizes), seed, put), function


def mixture(parameters, x, chosen):
    """(tokens, features) to the same."""
    gates, experts = route(parameters, x, chosen)
    output = tf.zeros_like(x)
    for expert, (up, down) in enumerate(zip(*map(tf.unstack, stacked(parameters)), strict=True)):
        # How many tokens an expert has is a size that depends on values.
        places = tf.where(experts == expert)
        token = places[:, :1]
        hidden = tf.nn.relu(tf.gather_nd(x, token) @ up)
        gate = tf.gather_nd(gates, places)[:, None]
        output = tf.tensor_scatter_nd_add(output, token, gate * (hidden @ down))
    return output
