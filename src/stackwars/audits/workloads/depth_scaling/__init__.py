"""Depth scaling: x = tanh(x W), so many times. Its work is its number of layers, known exactly."""

import numpy as np

from stackwars.workloads import counts, values

SIZES = {
    "rows": "rows of x",
    "width": "columns of x; W is width by width",
    "layers": "how often x goes through the layer",
}
ORDER = 0
"""Every workload has a place in the order of the tables, though this one is in none of them."""
_NAME = "layer.weight"


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (rows, width), float32."""
    return {"x": values.activations("x", (sizes["rows"], sizes["width"]), seed)}


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The one weight, in torch's layout."""
    return {_NAME: (sizes["width"], sizes["width"])}


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the products; a multiply-add is two."""
    return sizes["layers"] * counts.matmul(sizes["rows"], sizes["width"], sizes["width"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of the weight, the input and the output, each once."""
    return 4 * (sizes["width"] ** 2 + 2 * sizes["rows"] * sizes["width"])


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray], layers: int) -> np.ndarray:
    """The output (rows, width) in float64."""
    weight, x = weights[_NAME].astype(np.float64), inputs["x"].astype(np.float64)
    for _ in range(layers):
        x = np.tanh(x @ weight.T)
    return x
