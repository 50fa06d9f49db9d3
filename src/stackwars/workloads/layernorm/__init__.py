"""Layer normalisation over the last axis, with scale and shift (Ba et al., 2016)."""

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "LayerNorm", "I", "basic", "sequences", 50
SIZES = {
    "batch": "sequences in a call",
    "sequence": "positions in a sequence",
    "features": "width of input and output, which is normalised over",
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
    """Names and shapes of the weights."""
    return shapes.norm("norm", sizes["features"])


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Zero: matrix products and convolutions alone are counted, and there are none."""
    return 0


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once."""
    values_of_x = sizes["batch"] * sizes["sequence"] * sizes["features"]
    return 4 * (parameter_count(sizes) + 2 * values_of_x)


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The output (batch, sequence, features) in float64."""
    x = inputs["x"].astype(np.float64)
    centred = x - x.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return normal * weights["norm.weight"] + weights["norm.bias"]
