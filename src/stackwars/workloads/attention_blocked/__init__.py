"""The function of `attention_window`, computed in blocks of as many queries as the window is long.

The queries of a block see keys of their own block and of the one before it, and of no other: scores are
(window, 2 window) for each block, half of which the mask still removes. Before the first block stands one of
zeros, which is masked. Sizes, inputs, weights and reference are those of `attention_window`; the sequence
must be a multiple of the window.
"""

import numpy as np

from stackwars.workloads import attention_window, counts, limits

TITLE, TABLE, KIND, ITEM, ORDER = "Attention, blocked", "beyond", "basic", "sequences", 370
FORM_OF = "attention_window"
SIZES = attention_window.SIZES
items, reference = attention_window.items, attention_window.reference


def problems(sizes: dict[str, int]) -> dict[str, str]:
    """As of `attention_window`, and blocks that do not fill the sequence."""
    if found := attention_window.problems(sizes):
        return found
    if sizes["sequence"] % sizes["window"]:
        return {"window": f"a divisor of the sequence, {sizes['sequence']}"}
    return {}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Those of `attention_window`. Raises ValueError for sizes that have problems."""
    limits.refuse(sizes, problems(sizes))
    return attention_window.inputs(sizes, seed)


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Those of `attention_window`. Raises ValueError for sizes that have problems."""
    limits.refuse(sizes, problems(sizes))
    return attention_window.parameters(sizes)


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of projections and attention to two blocks, masked positions included."""
    batch, sequence, width = sizes["batch"], sizes["sequence"], sizes["features"]
    window = sizes["window"]
    blocks = batch * sequence // window
    projections = counts.matmul(batch * sequence, width, 4 * width)
    return projections + counts.attention(blocks, window, 2 * window, width)


minimum_bytes = attention_window.minimum_bytes
