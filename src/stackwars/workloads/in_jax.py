"""Operations and the training step that the forms in JAX share."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
from jax import numpy as jnp

from stackwars.workloads import adamw
from stackwars.workloads.base import Operations, torch_names

SAME = (
    *("arange", "concatenate", "einsum", "exp", "matmul", "mean", "pad", "reshape", "split"),
    *("sqrt", "square", "sum", "tanh", "where", "zeros"),
)
XP = Operations(
    dialect="jax",
    **{name: getattr(jnp, name) for name in SAME},
    gelu=partial(jax.nn.gelu, approximate=False),
    gelu_tanh=partial(jax.nn.gelu, approximate=True),
    linear=lambda x, weight: x @ weight.T,
    one_hot=jax.nn.one_hot,
    relu=jax.nn.relu,
    sigmoid=jax.nn.sigmoid,
    softmax=jax.nn.softmax,
    top_k=jax.lax.top_k,
)
"""Operations under NumPy's names, and: gelu (exact) and gelu_tanh; linear, x by a weight in torch's layout."""


def build(workload, sizes, seed, put):
    """Return (weights, function), or ((weights, state), function with the attribute `leaves`).

    A function that updates its state takes both and the inputs, and returns (new state, output).
    """
    weights = workload.place("jax", sizes, seed, put)
    function = workload.form("jax", sizes, XP, jax)
    if hasattr(workload, "losses_rel"):
        return stepping(weights, function)
    state = {name: put(value) for name, value in workload.state(sizes, seed).items()}
    if not state:
        return weights, function
    function.leaves = lambda state: {name: np.asarray(value) for name, value in state.items()}
    return (weights, state), function


def divided(workload, sizes):
    """Return the function on one of several devices.

    Raises NotImplementedError if the workload does not say what its devices send.
    """
    if not hasattr(workload, "divided_in_jax"):
        raise NotImplementedError("it would have to be written with what its devices send")

    def function(*given):
        return workload.divided_in_jax(sizes, jax, *given)

    return step(function) if hasattr(workload, "losses_rel") else function


def stepping(weights, loss):
    """Return ((), state) and the training step: value and gradient of a loss, and optax's AdamW.

    weights: nested dictionaries as of `base.tree`. loss: a function of them and the inputs, a scalar. The state
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
    """Return a step's loss from that of this device's part of the batch, which is all of it unless divided."""
    return loss


def leaves(state):
    """Return {name: array in torch's layout} of the weights and both moments."""
    weights, (moments, *_) = jax.tree.map(np.asarray, state)
    return adamw.leaves(*map(torch_names, (weights, moments.mu, moments.nu)))
