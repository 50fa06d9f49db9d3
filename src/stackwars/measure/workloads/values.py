"""Seeded values of weights and inputs, the same in every dialect.

A leaf depends on the seed, its name in torch's ``state_dict`` and its shape in torch's layout, and
on no other leaf: leaves can be made in any order, one at a time. They are uniform, not normal, and
computed from raw bits, because a model has a billion and each cell computes them again.
"""

import hashlib
import math

import numpy as np

EMBEDDINGS = (
    "embed_tokens.weight",
    "word_embeddings.weight",
    "position_embeddings.weight",
    "token_type_embeddings.weight",
    "wte.weight",
    "wpe.weight",
    "position_embeddings",
    "cls_token",
)
EMBEDDING_STD = 0.02
FACTORS = {
    # GPT-Neo does not divide its scores by sqrt(width of a head): its queries have to be small. With
    # queries like any other, softmax is one-hot, and rounding errors grow by ten in each layer.
    ".attn.attention.q_proj.weight": 0.1,
    # A recurrence multiplies its state by this weight once a step: with the spectral radius 1 of any other matrix,
    # rounding errors would not die out.
    "recurrent.weight": 0.5,
}
CACHED = (".key", ".value")  # of a layer, which normalisation before it keeps near a standard deviation of 1
SMALL_STD = 0.02
SCALE_STD = 0.1
TILE = 32  # pixels
CHUNK = 1 << 16  # values made at a time, an even number: a chunk stays in the cache
BFLOAT16 = "bfloat16"


class BFloat16(np.ndarray):
    """A float32 array of values that bfloat16 has: frameworks place it as bfloat16, which NumPy does not have."""


def leaf(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return the float32 value of one weight, from its canonical torch name and torch-layout shape.

    Matrices and kernels have mean 0 and standard deviation 1/sqrt(values per row), which is the
    fan-in in the layout of torch's linear and convolution layers (a tenth of that in GPT-Neo's
    queries, half of it in a recurrent weight); embeddings 0.02, keys and values of a cache 1.
    One-dimensional weights and running variances lie within 1 +- 0.174, biases and running means
    within +- 0.035.
    """
    mean, std = _moments(name, shape)
    # An integer uniform on [-2^31, 2^31) has standard deviation 2^32/sqrt(12).
    factor = np.float32(std * math.sqrt(12) / 2**32)
    values = np.empty(shape, np.float32)
    flat = values.reshape(-1)
    bits = np.random.SFC64(_entropy(name, seed))
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        integers = bits.random_raw(CHUNK // 2).view(np.int32)[: part.size]
        np.multiply(integers, factor, out=part, dtype=np.float32, casting="unsafe")
    if mean:
        values += np.float32(mean)
    return values


def activations(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return a float32 input with mean 0 and standard deviation 1."""
    return generator(name, seed).standard_normal(shape, dtype=np.float32)


def images(name: str, batch: int, channels: int, side: int, seed: int) -> np.ndarray:
    """Return a float32 input (batch, channels, side, side) of coloured tiles with noise, mean 0.

    Networks that pool over an image can hardly tell images of noise alone apart.
    """
    tiles = -(-side // TILE)
    colours = activations(f"{name}.tiles", (batch, channels, tiles, tiles), seed)
    tiled = colours.repeat(TILE, axis=2).repeat(TILE, axis=3)[:, :, :side, :side]
    return tiled + activations(name, tiled.shape, seed) / np.float32(2)


def tokens(name: str, shape: tuple[int, ...], seed: int, vocabulary: int) -> np.ndarray:
    """Return an int32 input of token ids, uniform on [0, vocabulary)."""
    return generator(name, seed).integers(vocabulary, size=shape, dtype=np.int32)


def generator(name: str, seed: int) -> np.random.Generator:
    """Return the source of an input's values."""
    return np.random.Generator(np.random.SFC64(_entropy(name, seed)))


def bfloat16(array: np.ndarray) -> BFloat16:
    """Return a float32 array rounded to bfloat16, to nearest even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), array, rounded.view(np.float32)).view(BFloat16)


def native(array: np.ndarray) -> np.ndarray:
    """Return an array as JAX and TensorFlow take it: bfloat16 values in an element type of ml_dtypes."""
    return np.asarray(array).astype(native_dtype(array)) if isinstance(array, BFloat16) else array


def native_dtype(array: np.ndarray) -> np.dtype:
    """Return the element type that JAX and TensorFlow have for an array."""
    if not isinstance(array, BFloat16):
        return array.dtype
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def _entropy(name: str, seed: int) -> list[int]:
    return [seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")]


def _moments(name: str, shape: tuple[int, ...]) -> tuple[float, float]:
    if name.endswith(EMBEDDINGS):
        return 0.0, EMBEDDING_STD
    if name.endswith(CACHED):
        return 0.0, 1.0
    if len(shape) > 1:
        factor = next((factor for end, factor in FACTORS.items() if name.endswith(end)), 1.0)
        return 0.0, factor / math.sqrt(math.prod(shape[1:]))
    if name.rpartition(".")[2] in ("weight", "running_var"):
        return 1.0, SCALE_STD
    return 0.0, SMALL_STD
