"""One token of a decoder of GPT-2's form with a key-value cache: what generating text repeats.

A call computes the logits that follow a token, and writes its keys and values into the cache, in place. The
cache has room for `positions`, and the token's position is an input, as it is where a program is compiled once
and used for every token. Both sets of inputs have the same position, so the cache does not fill up while calls
are timed: each call overwrites what the last one wrote. What differs from GPT-2 is in `transformer`.
"""

import numpy as np

from stackwars.workloads import counts, limits, transformer, values

TITLE, TABLE, KIND, ITEM, ORDER = "Decode", "beyond", "basic", "tokens", 420
STATE = "keys and values of the tokens so far"
SIZES = {
    **transformer.SIZES,
    "positions": "tokens that the cache has room for",
    "past": "tokens in the cache before the call",
}


def problems(sizes: dict[str, int]) -> dict[str, str]:
    """A cache that is full has no room for the token."""
    if sizes["past"] < sizes["positions"]:
        return {}
    return {"past": f"fewer than positions, {sizes['positions']}"}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """token (batch,), int32; position (), int32. Raises ValueError for sizes that have problems."""
    limits.refuse(sizes, problems(sizes))
    return {
        "token": values.tokens("token", (sizes["batch"],), seed, sizes["vocabulary"]),
        "position": np.asarray(sizes["past"], np.int32),
    }


def items(sizes: dict[str, int]) -> int:
    """Tokens in a call."""
    return sizes["batch"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights, as torch has them."""
    return transformer.parameters(sizes, sizes["positions"])


def cache_shapes(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the cache: (batch, heads, positions, width of a head)."""
    heads = sizes["heads"]
    shape = (sizes["batch"], heads, sizes["positions"], sizes["hidden"] // heads)
    names = [f"h.{layer}.{part}" for layer in range(sizes["layers"]) for part in ("key", "value")]
    return dict.fromkeys(names, shape)


def cache(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """The cache at first, float32: drawn, beyond the past too, which no token may see."""
    shapes = cache_shapes(sizes)
    return {name: values.activations(name, shape, seed) for name, shape in shapes.items()}


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the products, with attention to the whole cache."""
    batch, width = sizes["batch"], sizes["hidden"]
    layer = counts.matmul(batch, width, 4 * width + 2 * sizes["intermediate"])
    layer += counts.attention(batch, 1, sizes["positions"], width)
    return sizes["layers"] * layer + counts.matmul(batch, width, sizes["vocabulary"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of the weights that are read, and of the cache up to the token."""
    width, used = sizes["hidden"], min(sizes["batch"], sizes["vocabulary"])
    read = parameter_count(sizes) - counts.unread(sizes["vocabulary"], used, width)
    read -= counts.unread(sizes["positions"], 1, width)
    seen = 2 * sizes["layers"] * sizes["batch"] * (sizes["past"] + 1) * width
    return 4 * (read + seen)


def reference(
    weights: dict[str, np.ndarray],
    batches: list[dict[str, np.ndarray]],
    heads: int,
    filled: dict[str, np.ndarray],
) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """(logits (batch, vocabulary) of a call for each set of inputs, the cache after the last), in float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    kept = {name: value.astype(np.float64) for name, value in filled.items()}
    return [transformer.decoded(w, kept, one["token"], int(one["position"]), heads) for one in batches], kept
