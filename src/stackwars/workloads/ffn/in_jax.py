"""The feed-forward block with exact GELU in JAX."""

import jax

from stackwars.workloads import fill_tree
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
