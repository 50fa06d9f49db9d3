"""A decoder of GPT-2's form for training and decoding: blocks in every dialect, in NumPy with gradients written out.

Differences to GPT-2: the projections of queries, keys and values have no bias, and the head is not tied to the
embedding. The gradient of a key's bias is zero but for rounding, because softmax does not change when all
scores of a row do; an optimiser that divides by the gradient's size would step by rounding errors alone.

The caller decides what a block's attention sees: `mask` (queries, keys) is true for a key that a query sees.
"""

import math
from typing import Any

import numpy as np

from stackwars.measure.workloads import counts, losses
from stackwars.measure.workloads.base import make_module

EPSILON = 1e-5  # added to the variance
SIZES = {
    "batch": "sequences in a call",
    "layers": "transformer layers",
    "hidden": "width of a token's vector",
    "heads": "attention heads",
    "intermediate": "width between the two products of a feed-forward block",
    "vocabulary": "number of tokens",
}

TENSOR_PARALLEL = {
    "attn.qkv.weight": 0,
    "attn.out.weight": 1,
    "mlp.up.weight": 0,
    "mlp.up.bias": 0,
    "mlp.down.weight": 1,
    "head.weight": 0,
}
"""Queries, keys and values are one product, whose outputs are divided as they stand: a device's part of them does
not match its heads."""


def parameters(sizes: dict[str, int], positions: int) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the weights, as torch has them."""
    width, inner, vocabulary = sizes["hidden"], sizes["intermediate"], sizes["vocabulary"]
    result = counts.embedding("wte", vocabulary, width) | counts.embedding("wpe", positions, width)
    for layer in range(sizes["layers"]):
        name = f"h.{layer}"
        result |= counts.norm(f"{name}.ln_1", width)
        result |= counts.linear(f"{name}.attn.qkv", width, 3 * width, bias=False)
        result |= counts.linear(f"{name}.attn.out", width, width)
        result |= counts.norm(f"{name}.ln_2", width)
        result |= counts.linear(f"{name}.mlp.up", width, inner)
        result |= counts.linear(f"{name}.mlp.down", inner, width)
    return result | counts.norm("ln_f", width) | counts.linear("head", width, vocabulary, bias=False)


class Blocks:
    """The blocks in JAX and TensorFlow, as functions of a layer's weights, which `base.nested` nests."""

    def __init__(self, xp):
        self.xp = xp

    def norm(self, layer, x):
        return self.xp.normalised(x, EPSILON) * layer["weight"] + layer["bias"]

    def queries_keys_values(self, layer, x, heads):
        """Return q, k and v, (batch, heads, sequence, width of a head), from x (batch, sequence, width)."""
        batch, sequence, width = x.shape
        parts = self.xp.split(linear(self.xp, layer["qkv"], x), 3, axis=-1)
        return [self.apart(part, (batch, sequence, heads, width // heads)) for part in parts]

    def apart(self, part, shape):
        """Divide (batch, sequence, width) into this shape, (batch, sequence, heads, width), and put heads first."""
        return self.xp.transpose(self.xp.reshape(part, shape), (0, 2, 1, 3))

    def mixed(self, layer, q, k, v, mask):
        """Return the attention of q over the k and v that it sees, projected."""
        batch, heads, sequence, width = q.shape
        scores = self.xp.linear(q, k) / math.sqrt(width)
        shares = self.xp.softmax(self.xp.where(mask, scores, -math.inf), axis=-1)
        together = self.xp.transpose(shares @ v, (0, 2, 1, 3))
        together = self.xp.reshape(together, (batch, sequence, heads * width))
        return linear(self.xp, layer["out"], together)

    def feed_forward(self, layer, x):
        return linear(self.xp, layer["down"], self.xp.gelu_tanh(linear(self.xp, layer["up"], x)))

    def layers(self, weights):
        """Return the layers in order."""
        return [weights["h"][str(number)] for number in range(len(weights["h"]))]

    def logits(self, weights, x):
        return linear(self.xp, weights["head"], self.norm(weights["ln_f"], x))


def linear(xp, layer, x):
    """Return x through a linear layer, whose weight is "kernel" (inputs, outputs) or "weight" (outputs, inputs)."""
    product = x @ layer["kernel"] if "kernel" in layer else xp.linear(x, layer["weight"])
    return product + layer["bias"] if "bias" in layer else product


def decoder_in_torch(torch, sizes, positions, forward):
    """Return a torch module with all weights. forward: a function of the module and its inputs."""
    nn, width = torch.nn, sizes["hidden"]

    def feed_forward(self, x):
        return self.down(nn.functional.gelu(self.up(x), approximate="tanh"))

    def layer():
        qkv, out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        up, down = nn.Linear(width, sizes["intermediate"]), nn.Linear(sizes["intermediate"], width)
        return make_module(
            torch,
            None,
            ln_1=nn.LayerNorm(width, EPSILON),
            attn=make_module(torch, None, qkv=qkv, out=out),
            ln_2=nn.LayerNorm(width, EPSILON),
            mlp=make_module(torch, feed_forward, up=up, down=down),
        )

    return make_module(
        torch,
        forward,
        wte=nn.Embedding(sizes["vocabulary"], width),
        wpe=nn.Embedding(positions, width),
        h=nn.ModuleList([layer() for _ in range(sizes["layers"])]),
        ln_f=nn.LayerNorm(width, EPSILON),
        head=nn.Linear(width, sizes["vocabulary"], bias=False),
    )


def queries_keys_values_in_torch(attention, x, heads):
    """Return q, k and v, (batch, heads, sequence, width of a head), from x (batch, sequence, width)."""
    batch, sequence, width = x.shape
    return [
        part.view(batch, sequence, heads, width // heads).transpose(1, 2)
        for part in attention.qkv(x).chunk(3, dim=-1)
    ]


def mixed_in_torch(torch, attention, q, k, v, mask):
    """Return the attention of q over the k and v that it sees, projected."""
    batch, heads, sequence, width = q.shape
    scores = q @ k.transpose(-2, -1) / math.sqrt(width)
    together = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v
    return attention.out(together.transpose(1, 2).reshape(batch, sequence, heads * width))


def heads_apart(x: np.ndarray, heads: int) -> np.ndarray:
    """Turn (batch, sequence, width) into (batch, heads, sequence, width of a head)."""
    batch, sequence, width = x.shape
    return x.reshape(batch, sequence, heads, width // heads).swapaxes(1, 2)


def heads_together(x: np.ndarray) -> np.ndarray:
    """Invert `heads_apart`."""
    batch, heads, sequence, width = x.shape
    return x.swapaxes(1, 2).reshape(batch, sequence, heads * width)


def linear_in_numpy(weights: dict[str, np.ndarray], name: str, x: np.ndarray) -> np.ndarray:
    """Map x (..., inputs) to (..., outputs)."""
    product = x @ weights[f"{name}.weight"].T
    return product + weights[f"{name}.bias"] if f"{name}.bias" in weights else product


def loss_and_gradients(
    weights: dict[str, np.ndarray], tokens: np.ndarray, heads: int, rounding: Any = None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the mean loss () and {name: gradient} of predicting tokens from those before.

    tokens: (batch, positions + 1).
    """
    x = weights["wte.weight"][tokens[:, :-1]] + weights["wpe.weight"]
    layers = sum(name.endswith(".ln_1.bias") for name in weights)
    saved = []
    for layer in range(layers):
        x, of_attention = _attention(weights, f"h.{layer}", x, heads)
        x, of_mlp = _mlp(weights, f"h.{layer}", x)
        saved.append((of_attention, of_mlp))
    last, of_norm = _norm(weights, "ln_f", x)
    logits = linear_in_numpy(weights, "head", last)
    classes = logits.shape[-1]
    loss, by_logits = losses.cross_entropy(logits.reshape(-1, classes), tokens[:, 1:].reshape(-1), rounding)
    result: dict[str, np.ndarray] = {}
    by_x = _linear_gradients(weights, "head", last, by_logits.reshape(logits.shape), result)
    by_x = _norm_gradients(weights, "ln_f", of_norm, by_x, result)
    for layer in reversed(range(layers)):
        of_attention, of_mlp = saved[layer]
        by_x = _mlp_gradients(weights, f"h.{layer}", of_mlp, by_x, result)
        by_x = _attention_gradients(weights, f"h.{layer}", of_attention, by_x, heads, result)
    result["wpe.weight"] = by_x.sum(axis=0)
    result["wte.weight"] = np.zeros_like(weights["wte.weight"])
    np.add.at(result["wte.weight"], tokens[:, :-1], by_x)
    return loss, result


def _norm(weights, name, x):
    return losses.norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"], EPSILON)


def _norm_gradients(weights, name, saved, gradient, found):
    by_x, found[f"{name}.weight"], found[f"{name}.bias"] = losses.norm_gradients(
        gradient, weights[f"{name}.weight"], saved
    )
    return by_x


def _linear_gradients(weights, name, x, gradient, found):
    """Return the gradient by x, and write the gradients by the layer's weights into `found`."""
    rows, columns = x.reshape(-1, x.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
    found[f"{name}.weight"] = columns.T @ rows
    if f"{name}.bias" in weights:
        found[f"{name}.bias"] = columns.sum(axis=0)
    return gradient @ weights[f"{name}.weight"]


def _attention(weights, name, x, heads):
    normal, of_norm = _norm(weights, f"{name}.ln_1", x)
    qkv = np.split(linear_in_numpy(weights, f"{name}.attn.qkv", normal), 3, axis=-1)
    q, k, v = (heads_apart(part, heads) for part in qkv)
    scale = q.dtype.type(1 / math.sqrt(q.shape[-1]))
    scores = q @ k.swapaxes(-1, -2) * scale
    later = np.triu(np.ones(scores.shape[-2:], bool), 1)
    scores[..., later] = -np.inf
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed = heads_together(shares @ v)
    return x + linear_in_numpy(weights, f"{name}.attn.out", mixed), (
        normal, of_norm, q, k, v, scale, shares, mixed,
    )  # fmt: skip


def _attention_gradients(weights, name, saved, gradient, heads, found):
    normal, of_norm, q, k, v, scale, shares, mixed = saved
    by_mixed = heads_apart(_linear_gradients(weights, f"{name}.attn.out", mixed, gradient, found), heads)
    by_shares = by_mixed @ v.swapaxes(-1, -2)
    by_scores = shares * (by_shares - (by_shares * shares).sum(axis=-1, keepdims=True)) * scale
    by_v = shares.swapaxes(-1, -2) @ by_mixed
    parts = [by_scores @ k, by_scores.swapaxes(-1, -2) @ q, by_v]
    by_qkv = np.concatenate([heads_together(part) for part in parts], axis=-1)
    by_normal = _linear_gradients(weights, f"{name}.attn.qkv", normal, by_qkv, found)
    return gradient + _norm_gradients(weights, f"{name}.ln_1", of_norm, by_normal, found)


def _mlp(weights, name, x):
    normal, of_norm = _norm(weights, f"{name}.ln_2", x)
    hidden, slope = losses.gelu(linear_in_numpy(weights, f"{name}.mlp.up", normal))
    return x + linear_in_numpy(weights, f"{name}.mlp.down", hidden), (normal, of_norm, hidden, slope)


def _mlp_gradients(weights, name, saved, gradient, found):
    normal, of_norm, hidden, slope = saved
    by_hidden = _linear_gradients(weights, f"{name}.mlp.down", hidden, gradient, found)
    by_normal = _linear_gradients(weights, f"{name}.mlp.up", normal, by_hidden * slope, found)
    return gradient + _norm_gradients(weights, f"{name}.ln_2", of_norm, by_normal, found)


def decoded(
    weights: dict[str, np.ndarray],
    cache: dict[str, np.ndarray],
    token: np.ndarray,
    position: int,
    heads: int,
) -> np.ndarray:
    """Return logits (batch, vocabulary) after a token (batch,) at a position; its keys and values go into the cache.

    cache: "h.<layer>.key" and "h.<layer>.value", (batch, heads, positions, width of a head).
    """
    x = (weights["wte.weight"][token] + weights["wpe.weight"][position])[:, None]
    for layer in range(len(cache) // 2):
        name = f"h.{layer}"
        normal, _ = _norm(weights, f"{name}.ln_1", x)
        qkv = np.split(linear_in_numpy(weights, f"{name}.attn.qkv", normal), 3, axis=-1)
        q, k, v = (heads_apart(part, heads) for part in qkv)
        keys, read = cache[f"{name}.key"], cache[f"{name}.value"]
        keys[:, :, position], read[:, :, position] = k[:, :, 0], v[:, :, 0]
        seen = slice(0, position + 1)
        scores = q @ keys[:, :, seen].swapaxes(-1, -2) * q.dtype.type(1 / math.sqrt(q.shape[-1]))
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = heads_together(shares / shares.sum(axis=-1, keepdims=True) @ read[:, :, seen])
        x, _ = _mlp(weights, name, x + linear_in_numpy(weights, f"{name}.attn.out", mixed))
    return linear_in_numpy(weights, "head", _norm(weights, "ln_f", x)[0])[:, 0]
