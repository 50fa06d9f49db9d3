"""Gradients of every example's loss in TensorFlow: `vectorized_map` of one example's gradient."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.per_example_grad import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them, x and labels."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x, labels):
    """x (batch, features) and labels (batch,) to the gradients (batch, weights)."""
    # Without a fallback: what it cannot vectorise is an error, and no hidden loop.
    return tf.vectorized_map(
        lambda example: gradient(parameters, *example), (x, labels), fallback_to_while_loop=False
    )


def gradient(parameters, x, label):
    """The gradient (weights,) of one example's loss: x (features,) and label ()."""
    weights = list(parameters.values())
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(weights)
        hidden = tf.linalg.matvec(parameters["up.weight"], x) + parameters["up.bias"]
        hidden = tf.nn.gelu(hidden, approximate=True)
        logits = tf.linalg.matvec(parameters["down.weight"], hidden) + parameters["down.bias"]
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
    return tf.concat([tf.reshape(g, [-1]) for g in tape.gradient(loss, weights)], axis=0)
