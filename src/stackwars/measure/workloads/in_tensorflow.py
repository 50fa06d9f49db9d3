"""The forms in TensorFlow: the operations that they share, and the training step."""

from functools import partial

import tensorflow as tf

from stackwars.measure.workloads import adamw
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
    if workload.TRAINS:
        return stepping(workload.place("tensorflow", sizes, seed, put), function)
    function.SIZES_FROM_VALUES = workload.SIZES_FROM_VALUES
    return workload.build_in_place("tensorflow", function, sizes, seed, put)


def stepping(weights, loss):
    """Return (weights, training step). loss: a function of weights and inputs.

    AdamW is written out, because Keras adds epsilon before the second moment's bias is corrected, which is another
    function (Kingma and Ba, 2015, name both forms).
    """
    first = {name: tf.Variable(tf.zeros_like(value)) for name, value in weights.items()}
    second = {name: tf.Variable(tf.zeros_like(value)) for name, value in weights.items()}
    steps = tf.Variable(0.0)

    def function(weights, *inputs):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(list(weights.values()))
            value = loss(weights, *inputs)
        gradients = tape.gradient(value, weights)
        steps.assign_add(1.0)
        corrected_1 = 1 - tf.pow(adamw.BETA_1, steps)
        corrected_2 = 1 - tf.pow(adamw.BETA_2, steps)
        for name, weight in weights.items():
            # An embedding's gradient is a list of rows.
            gradient = tf.convert_to_tensor(gradients[name])
            m, v = first[name], second[name]
            m.assign_add((1 - adamw.BETA_1) * (gradient - m))
            v.assign_add((1 - adamw.BETA_2) * (tf.square(gradient) - v))
            direction = (m / corrected_1) / (tf.sqrt(v / corrected_2) + adamw.EPSILON)
            weight.assign_sub(adamw.LEARNING_RATE * (direction + adamw.WEIGHT_DECAY * weight))
        return value

    function.leaves = lambda weights: adamw.leaves(weights, first, second)
    return weights, function
