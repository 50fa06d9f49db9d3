"""Operations that the forms in TensorFlow share."""

from functools import partial

import tensorflow as tf

from stackwars.measure.workloads.base import Operations

SAME = (
    *("einsum", "exp", "matmul", "pad", "reshape", "split", "sqrt", "square", "tanh", "where"),
    *("one_hot", "sigmoid", "zeros"),
)
XP = Operations(
    dialect="tensorflow",
    **{name: getattr(tf, name) for name in SAME},
    arange=tf.range,
    concatenate=tf.concat,
    gelu=partial(tf.nn.gelu, approximate=False),
    gelu_tanh=partial(tf.nn.gelu, approximate=True),
    linear=partial(tf.matmul, transpose_b=True),
    mean=tf.reduce_mean,
    relu=tf.nn.relu,
    softmax=tf.nn.softmax,
    sum=tf.reduce_sum,
    top_k=tf.math.top_k,
)


def build(workload, sizes, seed, put):
    """Return (weights, function); a function that updates what it keeps has the attribute `leaves`."""
    function = workload.form("tensorflow", sizes, XP, tf)
    function.SIZES_FROM_VALUES = workload.SIZES_FROM_VALUES
    return workload.build_in_place("tensorflow", function, sizes, seed, put)
