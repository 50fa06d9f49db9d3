"""The training step in TensorFlow.

AdamW is written out, because Keras adds epsilon before the second moment's bias is corrected, which is another
function (Kingma and Ba, 2015, name both forms).
"""

import tensorflow as tf

from stackwars.measure.workloads import adamw, in_tensorflow


def build(workload, sizes, seed, put):
    """Return (weights, training step), a function with the attribute `leaves`."""
    weights = workload.place("tensorflow", sizes, seed, put)
    loss = workload.form("tensorflow", sizes, in_tensorflow.XP, tf)
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
