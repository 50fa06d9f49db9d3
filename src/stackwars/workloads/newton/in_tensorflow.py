"""The Newton-Schulz iteration in TensorFlow, as a loop whose end the device decides."""

import tensorflow as tf

from stackwars.workloads.newton import TOLERANCE


def build(sizes, seed, put):
    """Parameters (none) and the function of them, the matrix and the right-hand sides."""
    return {}, function


def function(parameters, a, b):
    """(unknowns, unknowns), (unknowns, systems) to (unknowns, systems)."""
    return inverse(a) @ b


def inverse(a):
    """(unknowns, unknowns) to the same."""
    identity = tf.eye(a.shape[0], dtype=a.dtype)

    def unfinished(x, product):
        return tf.reduce_max(tf.abs(identity - product)) >= TOLERANCE

    def step(x, product):
        x = x @ (2 * identity - product)
        return x, a @ x

    columns = tf.reduce_max(tf.reduce_sum(tf.abs(a), axis=0))
    rows = tf.reduce_max(tf.reduce_sum(tf.abs(a), axis=1))
    x = tf.transpose(a) / (columns * rows)
    x, _ = tf.while_loop(unfinished, step, (x, a @ x))
    return x
