"""The decoder of `transformer` in TensorFlow: its blocks, and what a block's attention sees is the caller's.

Weights are {torch name: variable} in torch's layout.
"""

import math

import tensorflow as tf

from stackwars.workloads.transformer import EPSILON


def linear(weights, name, x):
    """(..., inputs) to (..., outputs)."""
    product = tf.matmul(x, weights[f"{name}.weight"], transpose_b=True)
    return product + weights[f"{name}.bias"] if f"{name}.bias" in weights else product


def norm(weights, name, x):
    """Layer normalisation over the last axis."""
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    normal = (x - mean) * tf.math.rsqrt(variance + EPSILON)
    return normal * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def queries_keys_values(weights, name, x, heads):
    """Three of (batch, heads, sequence, width of a head) from x (batch, sequence, width)."""
    batch, sequence, width = x.shape
    parts = tf.split(linear(weights, f"{name}.attn.qkv", x), 3, axis=-1)
    shape = (batch, sequence, heads, width // heads)
    return [tf.transpose(tf.reshape(part, shape), (0, 2, 1, 3)) for part in parts]


def mixed(weights, name, q, k, v, mask):
    """Attention of q over those k and v that the mask lets it see, and the projection of what it mixed."""
    batch, heads, sequence, width = q.shape
    scores = tf.matmul(q, k, transpose_b=True) / math.sqrt(width)
    shares = tf.nn.softmax(tf.where(mask, scores, float("-inf")), axis=-1)
    together = tf.transpose(tf.matmul(shares, v), (0, 2, 1, 3))
    together = tf.reshape(together, (batch, sequence, heads * width))
    return linear(weights, f"{name}.attn.out", together)


def feed_forward(weights, name, x):
    """(..., width) to the same."""
    hidden = tf.nn.gelu(linear(weights, f"{name}.mlp.up", x), approximate=True)
    return linear(weights, f"{name}.mlp.down", hidden)
