"""A training step of a decoder of GPT-2's width: next token, cross-entropy, backward, and AdamW.

A call is one step: it returns the loss before it, and updates the weights and what the optimiser keeps, in
place. The two sets of inputs are two batches, which the steps take in turn. The tokens are drawn, so the loss
falls because the network learns the batches by heart. What differs from GPT-2 is in `transformer`.
"""

from typing import Any

import numpy as np

from stackwars.workloads import adamw, counts, losses, transformer, values

TITLE, TABLE, KIND, ITEM, ORDER = "Train transformer", "beyond", "basic", "sequences", 310
STATE = "weights, and both moments of their gradients"
SIZES = {**transformer.SIZES, "sequence": "tokens of a sequence that are predicted from"}
TENSOR_PARALLEL = transformer.TENSOR_PARALLEL

APART = 3.7e-4
"""See `losses.bound`: of three draws of `rounding` at the sizes of the full preset 1.9e-4, 2.2e-4 and 3.6e-4.

The loss falls to 0.003, and the rounding of the sum of a softmax, which is near 1 then, does not."""


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """tokens (batch, sequence + 1), int32: each but the first is predicted from those before it."""
    shape = (sizes["batch"], sizes["sequence"] + 1)
    return {"tokens": values.tokens("tokens", shape, seed, sizes["vocabulary"])}


def items(sizes: dict[str, int]) -> int:
    """Sequences in a step."""
    return sizes["batch"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights, as torch has them."""
    return transformer.parameters(sizes, sizes["sequence"])


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the products: forward once, backward twice that."""
    width = sizes["hidden"]
    layer = counts.encoder(sizes["batch"], sizes["sequence"], width, sizes["intermediate"])
    rows = sizes["batch"] * sizes["sequence"]
    return 3 * (sizes["layers"] * layer + counts.matmul(rows, width, sizes["vocabulary"]))


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights and both moments, read and written once."""
    return 24 * parameter_count(sizes)


def longest(sizes: dict[str, int]) -> int:
    """Terms of the longest sum in a step."""
    return max(sizes["vocabulary"], sizes["intermediate"], sizes["batch"] * sizes["sequence"])


def losses_rel(sizes: dict[str, int]) -> float:
    """How far the losses of two frameworks may part, relative: `losses.bound`."""
    return losses.bound(APART)


def reference(
    weights: dict[str, np.ndarray],
    batches: list[dict[str, np.ndarray]],
    heads: int,
    rounding: Any = None,
) -> tuple[list[float], dict[str, np.ndarray]]:
    """As `adamw.trained`."""

    def of_batch(weights, batch, rounding):
        return transformer.loss_and_gradients(weights, batch["tokens"], heads, rounding)

    return adamw.trained(weights, of_batch, batches, rounding)
