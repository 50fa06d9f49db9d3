"""A training step in JAX: value and gradient of a loss, and optax's AdamW, with the old state donated."""

import jax
import numpy as np
import optax

from stackwars.workloads import adamw, fill_tree


def stepping(parameters, loss):
    """((), state), and the function of both and a batch: (new state, loss). The state is the weights and the
    optimiser's.

    parameters: nested dictionaries as of `fill_tree.tree`. loss: of them and the inputs, a scalar.
    """
    return ((), (parameters, _optimiser().init(parameters))), step(loss)


def step(loss):
    """The function of `stepping`."""
    optimiser = _optimiser()

    def function(_, state, *inputs):
        weights, kept = state
        value, gradients = jax.value_and_grad(lambda *given: reduced(loss(*given)))(weights, *inputs)
        updates, kept = optimiser.update(gradients, kept, weights)
        return (optax.apply_updates(weights, updates), kept), value

    function.leaves = leaves
    return function


def _optimiser():
    return optax.adamw(
        adamw.LEARNING_RATE,
        b1=adamw.BETA_1,
        b2=adamw.BETA_2,
        eps=adamw.EPSILON,
        weight_decay=adamw.WEIGHT_DECAY,
    )


def reduced(loss):
    """A step's loss, of the part of the batch that this device has: all of it, unless a caller divides it."""
    return loss


def leaves(state):
    """{name: array in torch's layout} of the weights and both moments."""
    weights, kept = jax.tree.map(np.asarray, state)
    moments = kept[0]
    return adamw.leaves(*map(fill_tree.names, (weights, moments.mu, moments.nu)))
