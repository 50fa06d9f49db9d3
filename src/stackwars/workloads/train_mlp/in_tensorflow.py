"""The classifier's training step in TensorFlow."""

import tensorflow as tf

from stackwars.workloads import fill_tree, train_tensorflow
from stackwars.workloads.train_mlp import parameters as shapes


def build(sizes, seed, put):
    """The weights on the device, and the step."""
    return train_tensorflow.stepping(fill_tree.flat(shapes(sizes), seed, put), loss)


def loss(parameters, x, labels):
    """x (batch, features) and labels (batch,) to the mean cross-entropy."""
    hidden = tf.matmul(x, parameters["up.weight"], transpose_b=True) + parameters["up.bias"]
    hidden = tf.nn.gelu(hidden, approximate=True)
    logits = tf.matmul(hidden, parameters["down.weight"], transpose_b=True) + parameters["down.bias"]
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
