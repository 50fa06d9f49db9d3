"""The decoder's training step in TensorFlow."""

import tensorflow as tf

from stackwars.workloads import fill_tree, train_tensorflow
from stackwars.workloads import transformer_tensorflow as decoder
from stackwars.workloads.train_transformer import parameters as shapes


def build(sizes, seed, put):
    """The weights on the device, and the step."""

    def loss(weights, tokens):
        return mean_loss(weights, tokens, sizes["layers"], sizes["heads"])

    return train_tensorflow.stepping(fill_tree.flat(shapes(sizes), seed, put), loss)


def mean_loss(weights, tokens, layers, heads):
    """tokens (batch, sequence + 1) to the mean cross-entropy of each but the first."""
    before, after = tokens[:, :-1], tokens[:, 1:]
    sequence = before.shape[1]
    x = tf.gather(weights["wte.weight"], before) + weights["wpe.weight"]
    causal = tf.linalg.band_part(tf.ones((sequence, sequence), tf.bool), -1, 0)
    for number in range(layers):
        name = f"h.{number}"
        normal = decoder.norm(weights, f"{name}.ln_1", x)
        q, k, v = decoder.queries_keys_values(weights, name, normal, heads)
        x = x + decoder.mixed(weights, name, q, k, v, causal)
        x = x + decoder.feed_forward(weights, name, decoder.norm(weights, f"{name}.ln_2", x))
    logits = decoder.linear(weights, "head", decoder.norm(weights, "ln_f", x))
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=after, logits=logits)
    return tf.reduce_mean(each)
