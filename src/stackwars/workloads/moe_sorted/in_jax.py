"""The mixture of experts in JAX, tokens sorted by expert."""

import jax
import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.moe import parameters as shapes
from stackwars.workloads.moe.in_jax import route, stacked


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""

    def function(parameters, x):
        return mixture(parameters, x, sizes["chosen"])

    return fill_tree.flat(shapes(sizes), seed, put), function


def mixture(parameters, x, chosen):
    """(tokens, features) to the same."""
    gates, experts = route(parameters, x, chosen)
    up, down = stacked(parameters)
    order = jnp.argsort(experts.reshape(-1))  # of the tokens * chosen rows, by expert
    rows = jnp.bincount(experts.reshape(-1), length=len(up))  # of each expert
    hidden = jax.nn.relu(jax.lax.ragged_dot(x[order // chosen], up, rows))
    outputs = jax.lax.ragged_dot(hidden, down, rows)[jnp.argsort(order)]
    return jnp.einsum("tkf,tk->tf", outputs.reshape(*gates.shape, -1), gates)
