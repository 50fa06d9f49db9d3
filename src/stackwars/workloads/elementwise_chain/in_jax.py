"""The elementwise chain and its sum in JAX."""

import jax
import jax.numpy as jnp

from stackwars.workloads.elementwise_chain import SCALE, SHIFT


def build(sizes, seed, put):
    """Parameters (none) and the function of them and x."""
    return {}, function


def function(parameters, x):
    """(elements,) to ()."""
    return jnp.sum(jnp.tanh(SCALE * x + SHIFT) * jax.nn.sigmoid(x) + jnp.exp(-x * x))
