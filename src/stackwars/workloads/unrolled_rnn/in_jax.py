"""The recurrence in JAX, unrolled."""

import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.scan_rnn.in_jax import next_state, start
from stackwars.workloads.unrolled_rnn import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(sequence, batch, features) to (sequence, batch, hidden)."""
    hidden, states = start(parameters, x), []
    for row in x:
        hidden = next_state(parameters, hidden, row)
        states.append(hidden)
    return jnp.stack(states)
