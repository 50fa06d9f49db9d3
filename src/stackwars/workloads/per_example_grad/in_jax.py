"""Gradients of every example's loss in JAX: `vmap` of `grad`."""

import jax
import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.per_example_grad import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them, x and labels."""
    names = list(shapes(sizes))

    def function(parameters, x, labels):
        """x (batch, features) and labels (batch,) to the gradients (batch, weights)."""
        gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(parameters, x, labels)
        # A dictionary comes back in the order of its keys.
        return jnp.concatenate([gradients[name].reshape(len(x), -1) for name in names], axis=1)

    return fill_tree.flat(shapes(sizes), seed, put), function


def loss(parameters, x, label):
    """The loss () of one example: x (features,) and label ()."""
    hidden = parameters["up.weight"] @ x + parameters["up.bias"]
    hidden = jax.nn.gelu(hidden, approximate=True)
    logits = parameters["down.weight"] @ hidden + parameters["down.bias"]
    return -jax.nn.log_softmax(logits)[label]
