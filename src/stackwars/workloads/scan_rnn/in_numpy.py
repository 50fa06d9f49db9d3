"""The recurrence in NumPy, whose loops are Python's."""

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.scan_rnn import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(sequence, batch, features) to (sequence, batch, hidden)."""
    bias = parameters["input"]["bias"]
    sequence, batch, _ = x.shape
    states = np.empty((sequence, batch, bias.size), x.dtype)
    hidden = np.zeros((batch, bias.size), x.dtype)
    for step, row in enumerate(x):
        from_input = row @ parameters["input"]["kernel"] + bias
        hidden = np.tanh(from_input + hidden @ parameters["recurrent"]["kernel"])
        states[step] = hidden
    return states
