"""The feed-forward block with exact GELU in JAX."""

import jax

from stackwars.workloads import fill_tree, parallel
from stackwars.workloads.ffn import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    up, down = parameters["up"], parameters["down"]
    hidden = x @ up["kernel"] + up["bias"]
    hidden = jax.nn.gelu(hidden, approximate=False)
    return hidden @ down["kernel"] + down["bias"]


def divided(sizes):
    """The function where every device has a part of the hidden layer: their shares of the output are added."""

    def function(parameters, x):
        up, down = parameters["up"], parameters["down"]
        hidden = jax.nn.gelu(x @ up["kernel"] + up["bias"], approximate=False)
        return jax.lax.psum(hidden @ down["kernel"], parallel.AXIS) + down["bias"]

    return function
