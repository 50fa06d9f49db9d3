"""The gradient of every example's loss, not of their sum: a transformation of a transformation.

The loss is the cross-entropy of a block of two linear layers with GELU by tanh between them. Differentially
private training and influence functions need these gradients (Abadi et al., 2016, section 4), and automatic
differentiation gives the sum over a batch. What a framework has for this differs: JAX and torch differentiate
the loss of one example and vectorise that (`vmap` of `grad`), TensorFlow's `vectorized_map` rewrites the graph
of one example's gradient, and in NumPy the derivatives are written by hand.

The gradient of a linear layer's weight is the outer product of two vectors: nearly all of a call's time goes
into writing the output, which is as large as the weights for each example.
"""

import math

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "Per-example gradients", "beyond", "basic", "examples", 320
SIZES = {
    "batch": "examples in a call",
    "features": "width of the input",
    "hidden": "width between the two linear layers",
    "classes": "number of labels",
}
CUBIC = 0.044715  # of GELU by tanh (Hendrycks and Gimpel, 2016)
SCALE = math.sqrt(2 / math.pi)


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (batch, features), float32; labels (batch,), int32."""
    batch = sizes["batch"]
    return {
        "x": values.activations("x", (batch, sizes["features"]), seed),
        "labels": values.tokens("labels", (batch,), seed, sizes["classes"]),
    }


def items(sizes: dict[str, int]) -> int:
    """Examples in a call."""
    return sizes["batch"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights, in torch's layout; a row of the output has them one after the other."""
    features, hidden = sizes["features"], sizes["hidden"]
    return shapes.linear("up", features, hidden) | shapes.linear("down", hidden, sizes["classes"])


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the products there and back; a multiply-add is two.

    An outer product counts as what it is to XLA: a product whose inner extent is 1.
    """
    batch, features = sizes["batch"], sizes["features"]
    hidden, classes = sizes["hidden"], sizes["classes"]
    there = counts.matmul(batch, features, hidden) + counts.matmul(batch, hidden, classes)
    back = counts.matmul(batch, classes, hidden)
    outer = counts.matmul(features, 1, hidden) + counts.matmul(hidden, 1, classes)
    return there + back + batch * outer


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, inputs and output, each once; the output has the weights' size for each example."""
    batch, weights = sizes["batch"], parameter_count(sizes)
    return 4 * (weights + batch * (sizes["features"] + 1) + batch * weights)


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The gradients (batch, weights) in float64: up.weight, up.bias, down.weight, down.bias."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    x, labels = inputs["x"].astype(np.float64), inputs["labels"]
    batch = len(x)
    before = x @ w["up.weight"].T + w["up.bias"]
    tanh = np.tanh(SCALE * (before + CUBIC * before**3))
    hidden = 0.5 * before * (1 + tanh)
    slope = 0.5 * (1 + tanh)
    slope += 0.5 * before * (1 - tanh**2) * SCALE * (1 + 3 * CUBIC * before**2)
    logits = hidden @ w["down.weight"].T + w["down.bias"]
    error = np.exp(logits - logits.max(-1, keepdims=True))
    error /= error.sum(-1, keepdims=True)
    error[np.arange(batch), labels] -= 1
    delta = error @ w["down.weight"] * slope
    up = np.einsum("bh,bf->bhf", delta, x).reshape(batch, -1)
    down = np.einsum("bc,bh->bch", error, hidden).reshape(batch, -1)
    return np.concatenate([up, delta, down, error], axis=1)
