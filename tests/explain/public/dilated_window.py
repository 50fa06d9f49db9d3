"""Larger of two rows, with holes between the columns (openxla/xla issue 48714).

From 4,096 elements on, jaxlib 0.10.2 hands the window reduction of JAX's program to YNN and drops its base
dilation: 4,063 of 4,064 elements are wrong with 64 by 64. With 64 by 63 it is right. The programs that write
the holes by themselves are right. The holes are -inf.
"""

import numpy as np

ISSUE = "openxla/xla issue 48714"
TITLE = "openxla/xla 48714: maximum over a window of a dilated array"
FAULTS = {"jaxlib-0.10.2": {"jax": "wrong"}}
CURE = "xla_cpu_experimental_ynn_fusion_type=-reduce"
ORDER = 940


def inputs(rows=64, columns=64):
    return {"x": (rows, columns)}


def jax(x):
    from jax import lax, numpy

    return lax.reduce_window(x, -numpy.inf, lax.max, (2, 1), (2, 1), "VALID", base_dilation=(1, 2))


def torch(x):
    import torch

    largest = torch.maximum(x[::2], x[1::2])
    holes = torch.full_like(largest, -torch.inf)
    return torch.stack([largest, holes], 2).reshape(largest.shape[0], -1)[:, :-1]


def numpy(x):
    result = np.full((x.shape[0] // 2, 2 * x.shape[1] - 1), -np.inf, x.dtype)
    result[:, ::2] = np.maximum(x[::2], x[1::2])
    return result


def tensorflow(x):
    import tensorflow as tf

    largest = tf.maximum(x[::2], x[1::2])
    holes = tf.fill(tf.shape(largest), -np.inf)
    return tf.reshape(tf.stack([largest, holes], axis=2), (largest.shape[0], -1))[:, :-1]
