"""Causal self-attention within a window: a position sees itself and the window - 1 positions before it.

The projections are those of `mha`. All scores of a sequence are computed, and those outside the window are
set to minus infinity before the softmax. `attention_blocked` computes the same function from the same weights
without most of the scores that are masked here. Every position sees at least itself, so no row of the softmax
is empty.
"""

import math

import numpy as np

from stackwars.workloads import counts, limits, mha, values

TITLE, TABLE, KIND, ITEM, ORDER = "Attention, window", "beyond", "basic", "sequences", 360
SIZES = {**mha.SIZES, "window": "positions that a position sees, itself included"}


def problems(sizes: dict[str, int]) -> dict[str, str]:
    """A window longer than the sequence would be full attention under another name."""
    if sizes["window"] > sizes["sequence"]:
        return {"window": f"at most the sequence, {sizes['sequence']}"}
    return {}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (batch, sequence, features), float32. Raises ValueError for sizes that have problems."""
    limits.refuse(sizes, problems(sizes))
    shape = (sizes["batch"], sizes["sequence"], sizes["features"])
    return {"x": values.activations("x", shape, seed)}


def items(sizes: dict[str, int]) -> int:
    """Sequences in a call."""
    return sizes["batch"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights, as those of `mha`. Raises ValueError for sizes that have problems."""
    limits.refuse(sizes, problems(sizes))
    return mha.parameters(sizes)


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of projections and attention, masked positions included."""
    batch, sequence, width = sizes["batch"], sizes["sequence"], sizes["features"]
    projections = counts.matmul(batch * sequence, width, 4 * width)
    return projections + counts.attention(batch, sequence, sequence, width)


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once."""
    values_of_x = sizes["batch"] * sizes["sequence"] * sizes["features"]
    return 4 * (parameter_count(sizes) + 2 * values_of_x)


def reference(
    weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray], heads: int, window: int
) -> np.ndarray:
    """The output (batch, sequence, features) in float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    x = inputs["x"].astype(np.float64)
    batch, sequence, width = x.shape
    qkv = x @ w["qkv.weight"].T + w["qkv.bias"]
    q, k, v = qkv.reshape(batch, sequence, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(width // heads)
    distance = np.subtract.outer(np.arange(sequence), np.arange(sequence))
    scores = np.where((distance >= 0) & (distance < window), scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (scores / scores.sum(-1, keepdims=True)) @ v
    mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, sequence, width)
    return mixed @ w["out.weight"].T + w["out.bias"]
