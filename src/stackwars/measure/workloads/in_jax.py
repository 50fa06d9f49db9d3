"""The forms in JAX: the operations that they share, and the training step, by optax's AdamW."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
from jax import numpy as jnp

from stackwars.measure.workloads import adamw
from stackwars.measure.workloads.base import Operations, torch_names

SAME = (
    *("arange", "concatenate", "einsum", "exp", "matmul", "mean", "pad", "reshape", "split"),
    *("sqrt", "square", "sum", "tanh", "transpose", "where", "zeros"),
)


def _cross_entropy(logits, labels):
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def _normalised(x, epsilon):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + epsilon)


XP = Operations(
    dialect="jax",
    **{name: getattr(jnp, name) for name in SAME},
    causal=lambda positions: jnp.tril(jnp.ones((positions, positions), bool)),
    cross_entropy=_cross_entropy,
    gelu=partial(jax.nn.gelu, approximate=False),
    gelu_tanh=partial(jax.nn.gelu, approximate=True),
    linear=lambda x, weight: x @ weight.swapaxes(-1, -2),
    normalised=_normalised,
    one_hot=jax.nn.one_hot,
    relu=jax.nn.relu,
    rows=lambda table, index: table[index],
    sigmoid=jax.nn.sigmoid,
    softmax=jax.nn.softmax,
    top_k=jax.lax.top_k,
)
"""Operations under NumPy's names, and others: causal, the mask (queries, keys) of a sequence; cross_entropy, the mean
over all labels; gelu (exact) and gelu_tanh; linear, x by a weight in torch's layout; normalised, to mean 0 and variance
1 over the last axis; rows, of a table."""


def build(workload, sizes, seed, put):
    """Return (weights, function), or ((weights, state), function with the attribute `leaves`).

    A function that updates its state takes both and the inputs, and returns (new state, output).
    """
    weights = workload.place("jax", sizes, seed, put)
    function = workload.form("jax", sizes, XP, jax)
    if workload.TRAINS:
        return stepping(weights, function)
    state = {name: put(value) for name, value in workload.state(sizes, seed).items()}
    if not state:
        return weights, function
    function.leaves = lambda state: {name: np.asarray(value) for name, value in state.items()}
    return (weights, state), function


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
