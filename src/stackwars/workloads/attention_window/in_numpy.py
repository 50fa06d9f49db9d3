"""Self-attention within a window in NumPy, as dense scores and a mask."""

import math

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.attention_window import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""

    def function(parameters, x):
        return attention(parameters, x, sizes["heads"], sizes["window"])

    return fill_tree.tree(shapes(sizes), seed, put), function


def attention(parameters, x, heads, window):
    """(batch, sequence, features) to the same."""
    batch, sequence, width = x.shape
    qkv = x @ parameters["qkv"]["kernel"] + parameters["qkv"]["bias"]
    q, k, v = (
        part.reshape(batch, sequence, heads, width // heads).transpose(0, 2, 1, 3)
        for part in np.split(qkv, 3, axis=-1)
    )
    scores = q @ k.transpose(0, 1, 3, 2) / np.float32(math.sqrt(width // heads))
    positions = np.arange(sequence)
    distance = positions[:, None] - positions
    scores = np.where((distance >= 0) & (distance < window), scores, np.float32(-np.inf))
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ v
    mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, sequence, width)
    return mixed @ parameters["out"]["kernel"] + parameters["out"]["bias"]
