"""Depth scaling in JAX."""

import jax
import jax.numpy as jnp

from stackwars.audits.workloads.depth_scaling import parameters as shapes
from stackwars.workloads import fill_tree


def build(sizes, seed, put):
    """The parameter on the device, and the function of it and x."""

    def function(parameters, x):
        kernel = parameters["layer"]["kernel"]
        # A loop, for unrolled layers are compiled one by one: three seconds for a hundred.
        return jax.lax.fori_loop(0, sizes["layers"], lambda _, y: jnp.tanh(y @ kernel), x)

    return fill_tree.tree(shapes(sizes), seed, put), function
