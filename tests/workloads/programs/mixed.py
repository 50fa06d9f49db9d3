"""Element types other than float32, and several results."""

import numpy as np


def inputs(rows=4, width=8):
    return {
        "x": ("bfloat16", (rows, width)),
        "index": ("int32", (rows,), 8),
        "keep": ("bool", (rows, width)),
        "bits": ("uint32", (rows,), 2**31),
        "half": ("float16", (rows,)),
        "scale": (width,),
    }


def jax(x, index, keep, bits, half, scale):
    from jax import numpy as jnp

    y = jnp.where(keep, x.astype(jnp.float32), 0) * scale + half.astype(jnp.float32)[:, None]
    return (2 * y).astype(jnp.bfloat16), index * 3, y, bits ^ jnp.uint32(5), y > 0


def torch(x, index, keep, bits, half, scale):
    import torch

    y = torch.where(keep, x.float(), 0) * scale + half.float()[:, None]
    return (2 * y).bfloat16(), index * 3, y, bits.long() ^ 5, y > 0


def numpy(x, index, keep, bits, half, scale):
    y = np.where(keep, x, 0) * scale + half[:, None]
    return 2 * y, index * 3, y, bits ^ np.uint32(5), y > 0


def tensorflow(x, index, keep, bits, half, scale):
    import tensorflow as tf

    y = tf.where(keep, tf.cast(x, tf.float32), 0) * scale + tf.cast(half, tf.float32)[:, None]
    flipped = tf.bitwise.bitwise_xor(bits, tf.constant(5, tf.uint32))
    return tf.cast(2 * y, tf.bfloat16), index * 3, y, flipped, y > 0
