"""GEMM: the product of two matrices. Both are inputs; there are no weights."""

import numpy as np

from stackwars.workloads import counts, values

TITLE, TABLE, KIND, ITEM, ORDER = "GEMM", "I", "basic", "rows", 10
SIZES = {
    "m": "rows of the left matrix and of the product",
    "k": "columns of the left matrix, rows of the right one",
    "n": "columns of the right matrix and of the product",
}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Left (m, k) and right (k, n), float32."""
    m, k, n = sizes["m"], sizes["k"], sizes["n"]
    return {
        "left": values.activations("left", (m, k), seed),
        "right": values.activations("right", (k, n), seed),
    }


def items(sizes: dict[str, int]) -> int:
    """Rows of the product."""
    return sizes["m"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """No weights."""
    return {}


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights: none."""
    return 0


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of a call; a multiply-add is two."""
    return counts.matmul(sizes["m"], sizes["k"], sizes["n"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of both inputs and the output, each once."""
    m, k, n = sizes["m"], sizes["k"], sizes["n"]
    return 4 * (m * k + k * n + m * n)


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The product (m, n) in float64."""
    return inputs["left"].astype(np.float64) @ inputs["right"].astype(np.float64)
