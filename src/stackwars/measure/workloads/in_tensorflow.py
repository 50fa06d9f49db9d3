"""Operations that the forms in TensorFlow share."""

from functools import partial

import tensorflow as tf

from stackwars.measure.workloads.base import Operations

SAME = (
    *("einsum", "exp", "matmul", "pad", "reshape", "split", "sqrt", "square", "tanh", "transpose", "where"),
    *("one_hot", "sigmoid", "zeros"),
)


def _cross_entropy(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _normalised(x, epsilon):
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + epsilon)


XP = Operations(
    dialect="tensorflow",
    **{name: getattr(tf, name) for name in SAME},
    arange=tf.range,
    causal=lambda positions: tf.linalg.band_part(tf.ones((positions, positions), tf.bool), -1, 0),
    concatenate=tf.concat,
    cross_entropy=_cross_entropy,
    gelu=partial(tf.nn.gelu, approximate=False),
    gelu_tanh=partial(tf.nn.gelu, approximate=True),
    linear=partial(tf.matmul, transpose_b=True),
    mean=tf.reduce_mean,
    normalised=_normalised,
    relu=tf.nn.relu,
    rows=tf.gather,
    softmax=tf.nn.softmax,
    sum=tf.reduce_sum,
    top_k=tf.math.top_k,
)


def build(workload, sizes, seed, put):
    """Return (weights, function); a function that updates what it keeps has the attribute `leaves`."""
    function = workload.form("tensorflow", sizes, XP, tf)
    function.SIZES_FROM_VALUES = workload.SIZES_FROM_VALUES
    return workload.build_in_place("tensorflow", function, sizes, seed, put)
