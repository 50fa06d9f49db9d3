"""Rows shifted down by one (openxla/xla issue 49176).

XLA for the CPU updates the array in place while it reads it: from the third row on, every row is the first.
The programs that scatter into a slice (JAX, torchax) are wrong: 96 of 128 elements with 8 by 16, 1 of 3 with
3 by 1; with 1,024 by 1,024 the number can change from call to call. Two rows are right, and so are programs that
write the same as a pad and a select, or a concatenation.
"""

import numpy as np

ISSUE = "openxla/xla issue 49176"
TITLE = "openxla/xla 49176: rows shifted down by one"
COMPILERS = ("jaxlib-0.7.1", "jaxlib-0.10.2", "jaxlib-0.10.2-no-ynn")
FAULTS = {compiler: {"jax": "wrong", "torchax": "wrong"} for compiler in COMPILERS}
CURE = "xla_disable_hlo_passes=algsimp, or =fusion"
ORDER = 910


def inputs(rows=3, columns=1):
    return {"x": (rows, columns)}


def jax(x):
    base = x + 1
    return base.at[1:].set(base[:-1]).reshape(1, *base.shape)


def torch(x):
    base = x + 1
    shifted = base.clone()
    shifted[1:] = base[:-1]
    return shifted.reshape(1, *base.shape)


def numpy(x):
    base = x + 1
    return np.concatenate([base[:1], base[:-1]])[None]


def tensorflow(x):
    import tensorflow as tf

    base = x + 1
    return tf.reshape(tf.concat([base[:1], base[:-1]], axis=0), (1, *base.shape))
