"""The blocks of the decoder of `transformer` in JAX, TensorFlow and torch, for training and decoding.

What a block's attention sees is the caller's: `mask` (queries, keys) is true for a key that a query sees.
"""

import math
from types import SimpleNamespace

from stackwars.measure.workloads.transformer import EPSILON


def blocks_in_jax(jax):
    """Return the blocks in JAX as functions of a layer's weights, as `base.tree` nests them."""
    jnp = jax.numpy

    def linear(layer, x):
        product = x @ layer["kernel"]
        return product + layer["bias"] if "bias" in layer else product

    def norm(layer, x):
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.var(x, axis=-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * layer["weight"] + layer["bias"]

    def queries_keys_values(layer, x, heads):
        """Three of (batch, heads, sequence, width of a head) from x (batch, sequence, width)."""
        batch, sequence, _ = x.shape
        parts = jnp.split(linear(layer["qkv"], x), 3, axis=-1)
        return [part.reshape(batch, sequence, heads, -1).transpose(0, 2, 1, 3) for part in parts]

    def mixed(layer, q, k, v, mask):
        """Attention of q over those k and v that it sees, and the projection of what it mixed."""
        batch, heads, sequence, width = q.shape
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(width)
        shares = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        together = (shares @ v).transpose(0, 2, 1, 3).reshape(batch, sequence, heads * width)
        return linear(layer["out"], together)

    def feed_forward(layer, x):
        return linear(layer["down"], jax.nn.gelu(linear(layer["up"], x), approximate=True))

    def layers(parameters):
        """Return the layers in order."""
        return [parameters["h"][str(number)] for number in range(len(parameters["h"]))]

    def logits(parameters, x):
        return linear(parameters["head"], norm(parameters["ln_f"], x))

    blocks = (norm, queries_keys_values, mixed, feed_forward, layers, logits)
    return SimpleNamespace(**{block.__name__: block for block in blocks})


def blocks_in_tensorflow(tf):
    """Return the blocks in TensorFlow as functions of {torch name: variable} and a layer's name."""

    def linear(weights, name, x):
        product = tf.matmul(x, weights[f"{name}.weight"], transpose_b=True)
        return product + weights[f"{name}.bias"] if f"{name}.bias" in weights else product

    def norm(weights, name, x):
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
        """Attention of q over those k and v that it sees, and the projection of what it mixed."""
        batch, heads, sequence, width = q.shape
        scores = tf.matmul(q, k, transpose_b=True) / math.sqrt(width)
        shares = tf.nn.softmax(tf.where(mask, scores, float("-inf")), axis=-1)
        together = tf.transpose(tf.matmul(shares, v), (0, 2, 1, 3))
        together = tf.reshape(together, (batch, sequence, heads * width))
        return linear(weights, f"{name}.attn.out", together)

    def feed_forward(weights, name, x):
        hidden = tf.nn.gelu(linear(weights, f"{name}.mlp.up", x), approximate=True)
        return linear(weights, f"{name}.mlp.down", hidden)

    def logits(weights, x):
        return linear(weights, "head", norm(weights, "ln_f", x))

    blocks = (norm, queries_keys_values, mixed, feed_forward, logits)
    return SimpleNamespace(**{block.__name__: block for block in blocks})


def decoder_in_torch(torch):
    """Return the class of a module with all weights; how the parts are put together is its subclass's."""
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.out = nn.Linear(width, width)

        def queries_keys_values(self, x):
            """Three of (batch, heads, sequence, width of a head) from x (batch, sequence, width)."""
            batch, sequence, width = x.shape
            return [
                part.view(batch, sequence, self.heads, width // self.heads).transpose(1, 2)
                for part in self.qkv(x).chunk(3, dim=-1)
            ]

        def mixed(self, q, k, v, mask):
            """Attention of q over those k and v that it sees, and the projection of what it mixed."""
            batch, heads, sequence, width = q.shape
            scores = q @ k.transpose(-2, -1) / math.sqrt(width)
            together = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v
            return self.out(together.transpose(1, 2).reshape(batch, sequence, heads * width))

    class FeedForward(nn.Module):
        def __init__(self, width, inner):
            super().__init__()
            self.up = nn.Linear(width, inner)
            self.down = nn.Linear(inner, width)

        def forward(self, x):
            return self.down(functional.gelu(self.up(x), approximate="tanh"))

    class Layer(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            width = sizes["hidden"]
            self.ln_1 = nn.LayerNorm(width, EPSILON)
            self.attn = Attention(width, sizes["heads"])
            self.ln_2 = nn.LayerNorm(width, EPSILON)
            self.mlp = FeedForward(width, sizes["intermediate"])

    class Decoder(nn.Module):
        def __init__(self, sizes, positions):
            super().__init__()
            width, vocabulary = sizes["hidden"], sizes["vocabulary"]
            self.wte = nn.Embedding(vocabulary, width)
            self.wpe = nn.Embedding(positions, width)
            self.h = nn.ModuleList([Layer(sizes) for _ in range(sizes["layers"])])
            self.ln_f = nn.LayerNorm(width, EPSILON)
            self.head = nn.Linear(width, vocabulary, bias=False)

    return Decoder
