"""Self-attention within a window in JAX, block by block."""

import math

import jax
import jax.numpy as jnp

from stackwars.workloads import fill_tree
from stackwars.workloads.attention_blocked import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""

    def function(parameters, x):
        return attention(parameters, x, sizes["heads"], sizes["window"])

    return fill_tree.tree(shapes(sizes), seed, put), function


def attention(parameters, x, heads, window):
    """(batch, sequence, features) to the same."""
    batch, sequence, width = x.shape
    blocks = sequence // window
    qkv = x @ parameters["qkv"]["kernel"] + parameters["qkv"]["bias"]
    qkv = qkv.reshape(batch, blocks, window, 3 * heads, width // heads)
    q, k, v = jnp.split(qkv, 3, axis=3)
    k, v = with_previous(k), with_previous(v)
    scores = jnp.einsum("bnqhd,bnkhd->bnhqk", q, k) / math.sqrt(width // heads)
    scores = jnp.where(visible(blocks, window)[:, None], scores, -jnp.inf)
    mixed = jnp.einsum("bnhqk,bnkhd->bnqhd", jax.nn.softmax(scores, axis=-1), v)
    mixed = mixed.reshape(batch, sequence, width)
    return mixed @ parameters["out"]["kernel"] + parameters["out"]["bias"]


def with_previous(x):
    """(batch, blocks, window, heads, width) to (..., 2 window, ...): before each block the one before it."""
    previous = jnp.pad(x[:, :-1], [(0, 0), (1, 0), (0, 0), (0, 0), (0, 0)])
    return jnp.concatenate([previous, x], axis=2)


def visible(blocks, window):
    """(blocks, window, 2 window): whether a query sees a key. The zeros before the first block are seen by
    none.
    """
    block = jnp.arange(blocks)[:, None, None]
    query = jnp.arange(window)[:, None]
    key = jnp.arange(2 * window) - window
    return (key <= query) & (key > query - window) & ((block > 0) | (key >= 0))
