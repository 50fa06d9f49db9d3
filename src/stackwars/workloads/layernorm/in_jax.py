"""Layer normalisation in JAX."""

import jax
import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.layernorm import EPSILON
from stackwars.workloads.layernorm import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    normal = (x - mean) * jax.lax.rsqrt(variance + EPSILON)
    return normal * parameters["norm"]["weight"] + parameters["norm"]["bias"]
