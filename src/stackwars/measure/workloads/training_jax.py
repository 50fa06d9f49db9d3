"""The training step in JAX: value and gradient of a loss, and optax's AdamW."""

import jax
import numpy as np

from stackwars.measure.workloads import adamw, in_jax
from stackwars.measure.workloads.base import torch_names


def build(workload, sizes, seed, put):
    """Return ((), state) and the training step."""
    return stepping(workload.place("jax", sizes, seed, put), workload.form("jax", sizes, in_jax.XP, jax))


def stepping(weights, loss):
    """Return ((), state) and the training step: value and gradient of a loss, and optax's AdamW.

    weights: nested dictionaries as from `base.tree`. loss: a function of them and the inputs, a scalar. The state
    is the weights and the optimiser's.
    """
    return ((), (weights, _optimiser().init(weights))), step(loss)


def step(loss):
    """Return the function of `stepping`, whose old state is donated."""
    import optax

    optimiser = _optimiser()

    def function(_, state, *inputs):
        weights, moments = state
        value, gradients = jax.value_and_grad(lambda *given: reduced(loss(*given)))(weights, *inputs)
        updates, moments = optimiser.update(gradients, moments, weights)
        return (optax.apply_updates(weights, updates), moments), value

    function.leaves = leaves
    return function


def _optimiser():
    import optax

    return optax.adamw(
        adamw.LEARNING_RATE,
        b1=adamw.BETA_1,
        b2=adamw.BETA_2,
        eps=adamw.EPSILON,
        weight_decay=adamw.WEIGHT_DECAY,
    )


def reduced(loss):
    """Return a step's loss from the loss of this device's part of the batch; undivided, there is one part."""
    return loss


def leaves(state):
    """Return {name: array in torch's layout} of the weights and both moments."""
    weights, (moments, *_) = jax.tree.map(np.asarray, state)
    return adamw.leaves(*map(torch_names, (weights, moments.mu, moments.nu)))
