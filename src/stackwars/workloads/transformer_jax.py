"""The decoder of `transformer` in JAX: its blocks, and what a block's attention sees is the caller's."""

import math

import jax
import jax.numpy as jnp

from stackwars.workloads.transformer import EPSILON


def linear(layer, x):
    """(..., inputs) to (..., outputs)."""
    product = x @ layer["kernel"]
    return product + layer["bias"] if "bias" in layer else product


def norm(layer, x):
    """Layer normalisation over the last axis."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * layer["weight"] + layer["bias"]


def queries_keys_values(layer, x, heads):
    """Three of (batch, heads, sequence, width of a head) from x (batch, sequence, width)."""
    batch, sequence, _ = x.shape
    parts = jnp.split(linear(layer["qkv"], x), 3, axis=-1)
    return [part.reshape(batch, sequence, heads, -1).transpose(0, 2, 1, 3) for part in parts]


def mixed(layer, q, k, v, mask):
    """Attention of q over those k and v that the mask lets it see, and the projection of what it mixed."""
    batch, heads, sequence, width = q.shape
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(width)
    shares = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    together = (shares @ v).transpose(0, 2, 1, 3).reshape(batch, sequence, heads * width)
    return linear(layer["out"], together)


def feed_forward(layer, x):
    """(..., width) to the same."""
    return linear(layer["down"], jax.nn.gelu(linear(layer["up"], x), approximate=True))


def layers(parameters):
    """The layers in their order."""
    return [parameters["h"][str(number)] for number in range(len(parameters["h"]))]


def logits(parameters, x):
    """Of the last layer's output (..., width): (..., vocabulary)."""
    return linear(parameters["head"], norm(parameters["ln_f"], x))
