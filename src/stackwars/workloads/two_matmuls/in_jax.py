"""Two products with ReLU between them in JAX."""

import jax
import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.two_matmuls import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x):
    """(rows, features) to the same."""
    hidden = jax.nn.relu(jnp.matmul(x, parameters["a"]))
    return jnp.matmul(hidden, parameters["b"])
