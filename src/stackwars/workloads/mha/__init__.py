"""Multi-head self-attention: one combined QKV projection, softmax, output projection; no mask.

Attention is that of Vaswani et al., 2017, section 3.2: softmax(q k^T / sqrt(width of a head)) v.
"""

import math

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "MHA", "I", "basic", "sequences", 40
SIZES = {
    "batch": "sequences in a call",
    "sequence": "positions in a sequence",
    "features": "width of input and output; a multiple of heads",
    "heads": "attention heads",
}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (batch, sequence, features), float32."""
    shape = (sizes["batch"], sizes["sequence"], sizes["features"])
    return {"x": values.activations("x", shape, seed)}


def items(sizes: dict[str, int]) -> int:
    """Sequences in a call."""
    return sizes["batch"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights, in torch's layout; rows of qkv are q, then k, then v."""
    width = sizes["features"]
    return shapes.linear("qkv", width, 3 * width) | shapes.linear("out", width, width)


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of projections and attention; a multiply-add is two."""
    batch, sequence, width = sizes["batch"], sizes["sequence"], sizes["features"]
    projections = counts.matmul(batch * sequence, width, 4 * width)
    return projections + counts.attention(batch, sequence, sequence, width)


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once."""
    values_of_x = sizes["batch"] * sizes["sequence"] * sizes["features"]
    return 4 * (parameter_count(sizes) + 2 * values_of_x)


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray], heads: int = 12) -> np.ndarray:
    """The output (batch, sequence, features) in float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    x = inputs["x"].astype(np.float64)
    batch, sequence, width = x.shape
    qkv = x @ w["qkv.weight"].T + w["qkv.bias"]
    q, k, v = qkv.reshape(batch, sequence, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(width // heads)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (scores / scores.sum(-1, keepdims=True)) @ v
    mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, sequence, width)
    return mixed @ w["out.weight"].T + w["out.bias"]
