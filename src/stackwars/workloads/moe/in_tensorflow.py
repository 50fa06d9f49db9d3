"""The mixture of experts in TensorFlow, every expert for every token."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.moe import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""

    def function(parameters, x):
        return mixture(parameters, x, sizes["chosen"])

    return fill_tree.flat(shapes(sizes), seed, put), function


def mixture(parameters, x, chosen):
    """(tokens, features) to the same."""
    gates, experts = route(parameters, x, chosen)
    up, down = stacked(parameters)
    weights = tf.einsum("tk,tke->te", gates, tf.one_hot(experts, up.shape[0]))
    hidden = tf.nn.relu(tf.einsum("tf,efh->eth", x, up))
    outputs = tf.einsum("eth,ehf->etf", hidden, down)
    return tf.einsum("etf,te->tf", outputs, weights)


def route(parameters, x, chosen):
    """Gates and experts of each token, both (tokens, chosen)."""
    logits = tf.matmul(x, parameters["router.weight"], transpose_b=True)
    logits, experts = tf.math.top_k(logits, chosen)
    return tf.nn.softmax(logits, axis=-1), experts


def stacked(parameters):
    """Matrices of the experts: (experts, features, hidden) and (experts, hidden, features)."""
    experts = parameters["router.weight"].shape[0]
    up, down = parameters["up"], parameters["down"]
    return (
        tf.reshape(up, (experts, -1, up.shape[1])),
        tf.reshape(down, (experts, -1, down.shape[1])),
    )
