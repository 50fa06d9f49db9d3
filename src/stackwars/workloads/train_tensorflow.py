"""A training step in TensorFlow: a gradient tape, and AdamW on variables.

AdamW is written out, because that of Keras adds epsilon before the second moment's bias is corrected, which is
another function (Kingma and Ba, 2015, name both forms).
"""

import tensorflow as tf

from stackwars.workloads import adamw


def stepping(parameters, loss):
    """The parameters, and the function of them and a batch, which updates them: the loss before.

    parameters: {name: variable}. loss: of them and the inputs, a scalar.
    """
    first = {name: tf.Variable(tf.zeros_like(value)) for name, value in parameters.items()}
    second = {name: tf.Variable(tf.zeros_like(value)) for name, value in parameters.items()}
    steps = tf.Variable(0.0)

    def function(parameters, *inputs):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(list(parameters.values()))
            value = loss(parameters, *inputs)
        gradients = tape.gradient(value, parameters)
        steps.assign_add(1.0)
        corrected_1 = 1 - tf.pow(adamw.BETA_1, steps)
        corrected_2 = 1 - tf.pow(adamw.BETA_2, steps)
        for name, weight in parameters.items():
            # Of an embedding it is a list of rows.
            gradient = tf.convert_to_tensor(gradients[name])
            m, v = first[name], second[name]
            m.assign_add((1 - adamw.BETA_1) * (gradient - m))
            v.assign_add((1 - adamw.BETA_2) * (tf.square(gradient) - v))
            direction = (m / corrected_1) / (tf.sqrt(v / corrected_2) + adamw.EPSILON)
            weight.assign_sub(adamw.LEARNING_RATE * (direction + adamw.WEIGHT_DECAY * weight))
        return value

    function.leaves = lambda parameters: adamw.leaves(parameters, first, second)
    return parameters, function
