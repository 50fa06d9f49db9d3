"""The mixture of experts in JAX, every expert for every token."""

import jax
import jax.numpy as jnp

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
    weights = jnp.einsum("tk,tke->te", gates, jax.nn.one_hot(experts, len(up)))
    hidden = jax.nn.relu(jnp.einsum("tf,efh->eth", x, up))
    outputs = jnp.einsum("eth,ehf->etf", hidden, down)
    return jnp.einsum("etf,te->tf", outputs, weights)


def route(parameters, x, chosen):
    """Gates and experts of each token, both (tokens, chosen)."""
    logits, experts = jax.lax.top_k(x @ parameters["router.weight"].T, chosen)
    return jax.nn.softmax(logits, axis=-1), experts


def stacked(parameters):
    """Matrices of the experts: (experts, features, hidden) and (experts, hidden, features)."""
    experts = len(parameters["router.weight"])
    up, down = parameters["up"], parameters["down"]
    return up.reshape(experts, -1, up.shape[1]), down.reshape(experts, -1, down.shape[1])
