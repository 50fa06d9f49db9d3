"""The recurrence in TensorFlow, as a loop."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.scan_rnn import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(sequence, batch, features) to (sequence, batch, hidden)."""

    def step(hidden, row):
        return next_state(parameters, hidden, row)

    return tf.scan(step, x, start(parameters, x))


def start(parameters, x):
    """Zeros (batch, hidden)."""
    return tf.zeros((x.shape[1], parameters["input"]["bias"].shape[0]), x.dtype)


def next_state(parameters, hidden, row):
    """(batch, hidden), (batch, features) to (batch, hidden)."""
    from_input = row @ parameters["input"]["kernel"] + parameters["input"]["bias"]
    return tf.tanh(from_input + hidden @ parameters["recurrent"]["kernel"])
