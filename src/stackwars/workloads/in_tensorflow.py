"""Operations and the training step that the forms in TensorFlow share.

AdamW is written out, because Keras adds epsilon before the second moment's bias is corrected, which is another
function (Kingma and Ba, 2015, name both forms).
"""

from functools import partial

import tensorflow as tf

from stackwars.workloads import adamw
from stackwars.workloads.base import Operations, build_in_place

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
    return build_in_place(workload, "tensorflow", function, stepping, sizes, seed, put)


def stepping(weights, loss):
    """Return the weights and the training step: a gradient tape, and AdamW on variables.

    weights: {name: variable}. loss: a function of them and the inputs, a scalar.
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
            # Of an embedding it is a list of rows.
            gradient = tf.convert_to_tensor(gradients[name])
            m, v = first[name], second[name]
            m.assign_add((1 - adamw.BETA_1) * (gradient - m))
            v.assign_add((1 - adamw.BETA_2) * (tf.square(gradient) - v))
            direction = (m / corrected_1) / (tf.sqrt(v / corrected_2) + adamw.EPSILON)
            weight.assign_sub(adamw.LEARNING_RATE * (direction + adamw.WEIGHT_DECAY * weight))
        return value

    function.leaves = lambda weights: adamw.leaves(weights, first, second)
    return weights, function
