"""Self-attention within a window in TensorFlow, as dense scores and a mask."""

import math

import tensorflow as tf

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
    qkv = tf.reshape(qkv, (batch, sequence, 3 * heads, width // heads))
    q, k, v = tf.split(qkv, 3, axis=2)
    scores = tf.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width // heads)
    positions = tf.range(sequence)
    distance = positions[:, None] - positions
    scores = tf.where((distance >= 0) & (distance < window), scores, -math.inf)
    mixed = tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores, axis=-1), v)
    mixed = tf.reshape(mixed, (batch, sequence, width))
    return mixed @ parameters["out"]["kernel"] + parameters["out"]["bias"]
