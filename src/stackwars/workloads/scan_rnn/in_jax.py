"""The recurrence in JAX, as a loop."""

import jax
import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.scan_rnn import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(sequence, batch, features) to (sequence, batch, hidden)."""

    def step(hidden, row):
        hidden = next_state(parameters, hidden, row)
        return hidden, hidden

    _, states = jax.lax.scan(step, start(parameters, x), x)
    return states


def start(parameters, x):
    """Zeros (batch, hidden)."""
    return jnp.zeros((x.shape[1], parameters["input"]["bias"].size), x.dtype)


def next_state(parameters, hidden, row):
    """(batch, hidden), (batch, features) to (batch, hidden)."""
    from_input = row @ parameters["input"]["kernel"] + parameters["input"]["bias"]
    return jnp.tanh(from_input + hidden @ parameters["recurrent"]["kernel"])
