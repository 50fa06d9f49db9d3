"""Product of a batch of matrices that are scaled first; found in attention, with no public report.

IREE 3.13 with --iree-opt-data-tiling packs the scaled matrices as if they were one, without the rows that fill each up
to a multiple of the tile: from the second matrix on, the product reads other rows. One matrix, 4 rows, one term, or 3
columns are right. At a hidden size of 33 in 3 heads, bert_base, vit_b16 and gpt_neo_1p3b are wrong for the same reason:
JAX's programs of all three, and TorchTPU's of bert_base.
"""

ISSUE = ""
UPSTREAM = "IREE: data tiling mixes up the rows of a batched product"
TITLE = "Product of scaled matrices"
PROGRAMS = ("jax", "torch_xla", "torchax", "torch_tpu", "tensorflow_xla")
FAULTS = {"iree-3.13": dict.fromkeys(PROGRAMS, "wrong")}
CURE = "iree-opt-data-tiling=false"
ORDER = 955


def inputs(batch=2, rows=3, terms=2, columns=4):
    return {"a": (batch, rows, terms), "scale": (terms,), "b": (batch, terms, columns)}


def jax(a, scale, b):
    from jax import numpy

    return numpy.matmul(a * scale, b)


def torch(a, scale, b):
    import torch

    return torch.bmm(a * scale, b)


def numpy(a, scale, b):
    return (a * scale) @ b


def tensorflow(a, scale, b):
    import tensorflow as tf

    return tf.matmul(a * scale, b)
