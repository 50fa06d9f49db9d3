"""Gradients of every example's loss in JAX, one after the other."""

import jax
import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.per_example_grad import parameters as shapes
from stackwars.workloads.per_example_grad.in_jax import loss


def build(sizes, seed, put):
    """Parameters on the device, and the function of them, x and labels."""
    names = list(shapes(sizes))

    def function(parameters, x, labels):
        """x (batch, features) and labels (batch,) to the gradients (batch, weights)."""
        rows = []
        for example, label in zip(x, labels, strict=True):
            gradient = jax.grad(loss)(parameters, example, label)
            # A dictionary comes back in the order of its keys.
            rows.append(jnp.concatenate([gradient[name].reshape(-1) for name in names]))
        return jnp.stack(rows)

    return fill_tree.flat(shapes(sizes), seed, put), function
