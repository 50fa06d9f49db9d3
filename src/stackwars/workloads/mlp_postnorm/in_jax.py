"""The feed-forward block with normalisation after it in JAX."""

import jax
import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.mlp_postnorm import EPSILON
from stackwars.workloads.mlp_postnorm import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    hidden = x @ parameters["up.weight"] + parameters["up.bias"]
    hidden = jax.nn.gelu(hidden, approximate=True)
    y = x + (hidden @ parameters["down.weight"] + parameters["down.bias"])
    centred = y - jnp.mean(y, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    normal = centred / jnp.sqrt(variance + EPSILON)
    return normal * parameters["norm.weight"] + parameters["norm.bias"]
