"""A training step of a small classifier: product, GELU by tanh, product, cross-entropy, and AdamW.

A call is one step: it returns the loss before it, and updates the weights and what the optimiser keeps, in
place. The two sets of inputs are two batches, which the steps take in turn. Labels are drawn, so the loss falls
because the network learns the batches by heart.
"""

from typing import Any

import numpy as np

from stackwars.workloads import adamw, counts, losses, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "Train MLP", "beyond", "basic", "examples", 300
STATE = "weights, and both moments of their gradients"
SIZES = {
    "batch": "examples in a step",
    "features": "width of the input",
    "hidden": "width between the two products",
    "classes": "classes that the loss tells apart",
}

APART = 3.1e-5
"""See `losses.bound`: of 20 draws of `rounding` at the sizes of the full preset 2.8e-5 to 3.1e-5.

Nearly all of it is the correction of AdamW's second moment, 1 - 0.999^t, whose error in float32 is the same in
every step. With 0.999 rounded to float32 and nothing else, a training parts from an exact one by 6.4e-6: as far
as those that correct in float64 (NumPy, PyTorch) were from JAX, which corrects in float32."""


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (batch, features), float32; labels (batch,), int32."""
    return {
        "x": values.activations("x", (sizes["batch"], sizes["features"]), seed),
        "labels": values.tokens("labels", (sizes["batch"],), seed, sizes["classes"]),
    }


def items(sizes: dict[str, int]) -> int:
    """Examples in a step."""
    return sizes["batch"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights, as torch has them."""
    return {
        **shapes.linear("up", sizes["features"], sizes["hidden"]),
        **shapes.linear("down", sizes["hidden"], sizes["classes"]),
    }


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the products: two forward, and backward each twice but for the input's."""
    up = counts.matmul(sizes["batch"], sizes["features"], sizes["hidden"])
    down = counts.matmul(sizes["batch"], sizes["hidden"], sizes["classes"])
    return 2 * up + 3 * down


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights and both moments, read and written once, and of the input."""
    return 4 * (6 * parameter_count(sizes) + sizes["batch"] * (sizes["features"] + 1))


def longest(sizes: dict[str, int]) -> int:
    """Terms of the longest sum in a step."""
    return max(sizes["batch"], sizes["features"], sizes["hidden"], sizes["classes"])


def losses_rel(sizes: dict[str, int]) -> float:
    """How far the losses of two frameworks may part, relative: `losses.bound`."""
    return losses.bound(APART)


def gradients(
    weights: dict[str, np.ndarray], x: np.ndarray, labels: np.ndarray, rounding: Any = None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(loss (), {name: gradient}) of a batch, in the precision of the weights and x."""
    inner = x @ weights["up.weight"].T + weights["up.bias"]
    hidden, slope = losses.gelu(inner)
    logits = hidden @ weights["down.weight"].T + weights["down.bias"]
    loss, by_logits = losses.cross_entropy(logits, labels, rounding)
    by_inner = (by_logits @ weights["down.weight"]) * slope
    return loss, {
        "up.weight": by_inner.T @ x,
        "up.bias": by_inner.sum(axis=0),
        "down.weight": by_logits.T @ hidden,
        "down.bias": by_logits.sum(axis=0),
    }


def reference(
    weights: dict[str, np.ndarray],
    batches: list[dict[str, np.ndarray]],
    rounding: Any = None,
) -> tuple[list[float], dict[str, np.ndarray]]:
    """As `adamw.trained`."""

    def of_batch(weights, batch, rounding):
        return gradients(weights, batch["x"].astype(np.float64), batch["labels"], rounding)

    return adamw.trained(weights, of_batch, batches, rounding)
