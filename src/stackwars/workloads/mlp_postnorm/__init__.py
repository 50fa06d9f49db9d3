"""A feed-forward block with GELU by tanh, added to its input and then normalised over the last axis.

A lecture's third workload ("Lecture 09: PyTorch and JAX"). As there, it is written out in every dialect, in
products with weights (inputs, outputs), sums and means, not in the dialect's layers: those are in `ffn` and
`layernorm`. The lecture's 256 sequences of 1024 positions would take a CPU seconds (1.1e12 operations a
call): here it is the smaller one of config/config.yaml.
"""

import math

import numpy as np

from stackwars.workloads import counts, values

TITLE, TABLE, KIND, ITEM, ORDER = "MLP, post-norm", "lecture", "basic", "sequences", 90
SIZES = {
    "batch": "sequences in a call",
    "sequence": "positions in a sequence",
    "features": "width of input and output, which is normalised over",
    "hidden": "width between the two products",
}
EPSILON = 1e-5  # added to the variance


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (batch, sequence, features), float32."""
    shape = (sizes["batch"], sizes["sequence"], sizes["features"])
    return {"x": values.activations("x", shape, seed)}


def items(sizes: dict[str, int]) -> int:
    """Sequences in a call."""
    return sizes["batch"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights; those of the products are (inputs, outputs)."""
    features, hidden = sizes["features"], sizes["hidden"]
    return {
        "up.weight": (features, hidden),
        "up.bias": (hidden,),
        "down.weight": (hidden, features),
        "down.bias": (features,),
        "norm.weight": (features,),
        "norm.bias": (features,),
    }


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the two products; a multiply-add is two."""
    return 2 * counts.matmul(_positions(sizes), sizes["features"], sizes["hidden"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once."""
    return 4 * (parameter_count(sizes) + 2 * _positions(sizes) * sizes["features"])


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The output (batch, sequence, features) in float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    x = inputs["x"].astype(np.float64)
    hidden = x @ w["up.weight"] + w["up.bias"]
    inner = math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)
    hidden = 0.5 * hidden * (1 + np.tanh(inner))
    y = x + hidden @ w["down.weight"] + w["down.bias"]
    centred = y - y.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return normal * w["norm.weight"] + w["norm.bias"]


def _positions(sizes: dict[str, int]) -> int:
    return sizes["batch"] * sizes["sequence"]
