"""Sum of squares of a matrix times each row (jax-ml/jax issue 39103).

jaxlib 0.10.2 hands the reduction to YNN, and each row over 32,768 gets the value of an earlier row, here of that
128 rows before: with 32,769 rows the last one is wrong. 32,768 rows are right, and so are rows of 2, 4, 5, 6 or 7
elements, and TensorFlow's program, a product of two matrices.
"""

ISSUE = "jax-ml/jax issue 39103"
TITLE = "jax-ml/jax 39103: squared lengths of rotated rows"
PROGRAMS = ("jax", "torch_xla", "torchax", "torch_tpu")
FAULTS = {"jaxlib-0.10.2": dict.fromkeys(PROGRAMS, "wrong")}
CURE = "xla_cpu_experimental_ynn_fusion_type=-reduce"
ORDER = 920


def inputs(rows=32769, columns=3):
    return {"x": (rows, columns), "m": (columns, columns)}


def jax(x, m):
    from jax import numpy, vmap

    return vmap(lambda row: numpy.sum((m @ row) ** 2))(x)


def torch(x, m):
    import torch

    return torch.vmap(lambda row: ((m @ row) ** 2).sum())(x)


def numpy(x, m):
    return ((x @ m.T) ** 2).sum(1)


def tensorflow(x, m):
    import tensorflow as tf

    return tf.reduce_sum(tf.linalg.matmul(x, m, transpose_b=True) ** 2, axis=1)
