"""A feed-forward block: a linear layer, exact GELU (with erf), and a linear layer back."""

import math

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "FFN", "I", "basic", "sequences", 20
SIZES = {
    "batch": "sequences in a call",
    "sequence": "positions in a sequence",
    "features": "width of input and output",
    "hidden": "width between the two linear layers",
}

TENSOR_PARALLEL = {"up.weight": 0, "up.bias": 0, "down.weight": 1}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (batch, sequence, features), float32."""
    shape = (sizes["batch"], sizes["sequence"], sizes["features"])
    return {"x": values.activations("x", shape, seed)}


def items(sizes: dict[str, int]) -> int:
    """Sequences in a call."""
    return sizes["batch"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights, in torch's layout."""
    features, hidden = sizes["features"], sizes["hidden"]
    return shapes.linear("up", features, hidden) | shapes.linear("down", hidden, features)


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
    hidden = inputs["x"].astype(np.float64) @ w["up.weight"].T + w["up.bias"]
    hidden = 0.5 * hidden * (1 + _erf(hidden / math.sqrt(2)))
    return hidden @ w["down.weight"].T + w["down.bias"]


def _positions(sizes: dict[str, int]) -> int:
    return sizes["batch"] * sizes["sequence"]


def _erf(x: np.ndarray) -> np.ndarray:
    return np.fromiter(map(math.erf, x.flat), np.float64, x.size).reshape(x.shape)
