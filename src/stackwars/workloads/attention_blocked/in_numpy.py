"""Self-attention within a window in NumPy, block by block."""

import math

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.attention_blocked import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""

    def function(parameters, x):
        return attention(parameters, x, sizes["heads"], sizes["window"])

    return fill_tree.tree(shapes(sizes), seed, put), function


def attention(parameters, x, heads, window):
    """(batch, sequence, features) to the same."""
    batch, sequence, width = x.shape
    blocks = sequence // window
    qkv = x @ parameters["qkv"]["kernel"] + parameters["qkv"]["bias"]
    q, k, v = (
        part.reshape(batch, blocks, window, heads, width // heads).swapaxes(2, 3)
        for part in np.split(qkv, 3, axis=-1)
    )
    k, v = with_previous(k), with_previous(v)
    scores = q @ k.swapaxes(-1, -2) / np.float32(math.sqrt(width // heads))
    scores = np.where(visible(blocks, window)[:, None], scores, np.float32(-np.inf))
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ v
    mixed = mixed.swapaxes(2, 3).reshape(batch, sequence, width)
    return mixed @ parameters["out"]["kernel"] + parameters["out"]["bias"]


def with_previous(x):
    """(batch, blocks, heads, window, width) to (..., 2 window, width): before each block the one before it."""
    previous = np.pad(x[:, :-1], [(0, 0), (1, 0), (0, 0), (0, 0), (0, 0)])
    return np.concatenate([previous, x], axis=3)


def visible(blocks, window):
    """(blocks, window, 2 window): whether a query sees a key. The zeros before the first block are seen by
    none.
    """
    block = np.arange(blocks)[:, None, None]
    query = np.arange(window)[:, None]
    key = np.arange(2 * window) - window
    return (key <= query) & (key > query - window) & ((block > 0) | (key >= 0))
