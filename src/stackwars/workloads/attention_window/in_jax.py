"""Self-attention within a window in JAX, as dense scores and a mask."""

import math

import jax
import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.attention_window import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""

    def function(parameters, x):
        return attention(parameters, x, sizes["heads"], sizes["window"])

    return fill_tree.tree(shapes(sizes), seed, put), function


def attention(parameters, x, heads, window):
    """(batch, sequence, features) to the same."""
    batch, sequence, width = x.shape
    qkv = x @ parameters["qkv"]["kernel"] + parameters["qkv"]["bias"]
    q, k, v = jnp.split(qkv.reshape(batch, sequence, 3 * heads, width // heads), 3, axis=2)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width // heads)
    positions = jnp.arange(sequence)
    distance = positions[:, None] - positions
    scores = jnp.where((distance >= 0) & (distance < window), scores, -jnp.inf)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)
    mixed = mixed.reshape(batch, sequence, width)
    return mixed @ parameters["out"]["kernel"] + parameters["out"]["bias"]
