"""A training step of a decoder of GPT-2's width: next token, cross-entropy, backward, and AdamW.

A call is one step: it returns the loss before it, and updates the weights and what the optimiser keeps, in
place. The two sets of inputs are two batches, which the steps take in turn. The tokens are drawn, so the loss
falls because the network learns the batches by heart. What differs from GPT-2 is in `transformer`.
"""

import numpy as np

from stackwars.workloads import adamw, counts, losses, transformer, values

TITLE, TABLE, KIND, ITEM, ORDER = "Train transformer", "beyond", "basic", "sequences", 310
STATE = "weights, and both moments of their gradients"
SIZES = {**transformer.SIZES, "sequence": "tokens of a sequence that are predicted from"}
TENSOR_PARALLEL = transformer.TENSOR_PARALLEL

SENSITIVITY = 4.0
"""See `losses.bound`: 2.3 was the most of two draws at the study's sizes, 0.28 of three at those of smoke.

At ten times the learning rate it was 397: the loss falls to a tenth within ten steps, and the way there is
unstable."""


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


def losses_rel(sizes: dict[str, int]) -> float:
    """How far the losses of two frameworks may part, relative: `losses.bound`."""
    longest = max(sizes["vocabulary"], sizes["intermediate"], sizes["batch"] * sizes["sequence"])
    return losses.bound(SENSITIVITY, longest)


def reference(
    weights: dict[str, np.ndarray], batches: list[dict[str, np.ndarray]], heads: int
) -> tuple[list[float], dict[str, np.ndarray]]:
    """(losses before each step, weights and moments after the last) of a step for each batch, in float64."""
    optimiser = adamw.Optimiser({name: value.astype(np.float64) for name, value in weights.items()})
    found = []
    for batch in batches:
        loss, by_weight = transformer.loss_and_gradients(optimiser.weights, batch["tokens"], heads)
        optimiser.step(by_weight)
        found.append(float(loss))
    return found, optimiser.leaves()
