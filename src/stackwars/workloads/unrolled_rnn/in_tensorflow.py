"""The recurrence in TensorFlow, unrolled."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads.scan_rnn.in_tensorflow import next_state, start
from stackwars.workloads.unrolled_rnn import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(sequence, batch, features) to (sequence, batch, hidden)."""
    hidden, states = start(parameters, x), []
    for row in tf.unstack(x):  # a loop over the tensor itself would be converted to tf.while_loop
        hidden = next_state(parameters, hidden, row)
        states.append(hidden)
    return tf.stack(states)
