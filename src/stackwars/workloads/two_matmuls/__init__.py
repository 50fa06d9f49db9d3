"""Two matrix products with ReLU between them, without biases: a lecture's first workload.

As the lecture ("Lecture 09: PyTorch and JAX") writes it, the weights stand on the right of a product as they
are, (inputs, outputs): no dialect has a transpose to remove.
"""

import numpy as np

from stackwars.workloads import counts, values

TITLE, TABLE, KIND, ITEM, ORDER = "Two products", "lecture", "basic", "rows", 70
SIZES = {
    "rows": "rows of the input and of the output",
    "features": "columns of the input and of the output",
    "hidden": "columns of the first product",
}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (rows, features), float32."""
    return {"x": values.activations("x", (sizes["rows"], sizes["features"]), seed)}


def items(sizes: dict[str, int]) -> int:
    """Rows of the input."""
    return sizes["rows"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights: (inputs, outputs)."""
    features, hidden = sizes["features"], sizes["hidden"]
    return {"a": (features, hidden), "b": (hidden, features)}


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the two products; a multiply-add is two."""
    return 2 * counts.matmul(sizes["rows"], sizes["features"], sizes["hidden"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once."""
    return 4 * (parameter_count(sizes) + 2 * sizes["rows"] * sizes["features"])


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The output (rows, features) in float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    hidden = np.maximum(inputs["x"].astype(np.float64) @ w["a"], 0)
    return hidden @ w["b"]
