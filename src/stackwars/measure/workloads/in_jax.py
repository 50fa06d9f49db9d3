"""Operations that the forms in JAX share."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
from jax import numpy as jnp

from stackwars.measure.workloads.base import Operations

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
        return workload.divided_in_jax(sizes, XP, jax, *given)

    return function
