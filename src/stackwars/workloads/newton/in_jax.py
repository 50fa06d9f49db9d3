"""The Newton-Schulz iteration in JAX, as a loop whose end the device decides."""

import jax
import jax.numpy as jnp

from stackwars.workloads.newton import TOLERANCE


def build(sizes, seed, put):
    """Parameters (none) and the function of them, the matrix and the right-hand sides."""
    return {}, function


def function(parameters, a, b):
    """(unknowns, unknowns), (unknowns, systems) to (unknowns, systems)."""
    return inverse(a) @ b


def inverse(a):
    """(unknowns, unknowns) to the same."""
    identity = jnp.eye(len(a), dtype=a.dtype)

    def unfinished(state):
        _, product = state
        return jnp.max(jnp.abs(identity - product)) >= TOLERANCE

    def step(state):
        x, product = state
        x = x @ (2 * identity - product)
        return x, a @ x

    x = a.T / (jnp.linalg.norm(a, 1) * jnp.linalg.norm(a, jnp.inf))
    x, _ = jax.lax.while_loop(unfinished, step, (x, a @ x))
    return x
