"""Train a small network in JAX, and call it in each way that JAX has: see `test_capture.py`."""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


def predict(weights, x):
    return jnp.tanh(x @ weights["first"]) @ weights["second"]


def loss(weights, x, y):
    return jnp.mean((predict(weights, x) - y) ** 2)


@partial(jax.jit, donate_argnums=0)
def step(weights, x, y, rate):
    slopes = jax.grad(loss)(weights, x, y)
    return jax.tree.map(lambda weight, slope: weight - rate * slope, weights, slopes)


@partial(jax.jit, static_argnames="power")
def norm(x, power=2):
    return jnp.sum(jnp.abs(x) ** power)


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
rng = np.random.default_rng(0)
weights = {
    "first": jnp.asarray(rng.normal(0, 0.1, (256, 512)), jnp.float32),
    "second": jnp.asarray(rng.normal(0, 0.1, (512, 16)), jnp.float32),
}
x = jnp.asarray(rng.normal(3, 2, (64, 256)), jnp.float32)
small, y = jnp.asarray(x[:32]), jnp.asarray(rng.normal(size=(64, 16)), jnp.float32)
evaluate = jax.jit(loss)
for number in range(steps):
    weights = step(weights, x, y, 0.001 / (1 + number))
for inputs, targets in ((x, y), (small, y[:32]), (small, y[:32])):
    evaluate(weights, inputs, targets)
ahead = jax.jit(predict).lower(weights, x).compile()
for _ in range(5):
    ahead(weights, x)
for power in (2, 3, 3, 2, 3):
    norm(x, power=power)
for _ in range(4):
    jax.grad(evaluate)(weights, x, y)
with jax.debug_nans(True):
    norm(x)
    norm(x)
mapped = jax.pmap(jnp.negative)
for _ in range(3):
    mapped(x[None])
print("trained", float(evaluate(weights, x, y)))
