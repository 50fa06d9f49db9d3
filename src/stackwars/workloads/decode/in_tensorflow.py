"""A token of the decoder in TensorFlow, its cache in variables."""

import tensorflow as tf

from stackwars.workloads import fill_tree
from stackwars.workloads import transformer_tensorflow as decoder
from stackwars.workloads.decode import cache
from stackwars.workloads.decode import parameters as shapes


def build(sizes, seed, put):
    """The weights on the device, and the function of them, a token and its position."""
    kept = {name: put(value) for name, value in cache(sizes, seed).items()}

    def function(parameters, token, position):
        return logits(parameters, kept, token, position, sizes["layers"], sizes["heads"])

    function.leaves = lambda parameters: kept
    return fill_tree.flat(shapes(sizes), seed, put), function


def logits(weights, cache, token, position, layers, heads):
    """token (batch,) and position () to logits (batch, vocabulary)."""
    x = tf.gather(weights["wte.weight"], token) + tf.gather(weights["wpe.weight"], position)
    x = x[:, None]
    for number in range(layers):
        name = f"h.{number}"
        normal = decoder.norm(weights, f"{name}.ln_1", x)
        q, k, v = decoder.queries_keys_values(weights, name, normal, heads)
        keys, values = cache[f"{name}.key"], cache[f"{name}.value"]
        positions = keys.shape[2]
        here = tf.range(positions)[:, None] == position
        keys.assign(tf.where(here, k, keys))
        values.assign(tf.where(here, v, values))
        seen = tf.range(positions) <= position
        x = x + decoder.mixed(weights, name, q, keys.read_value(), values.read_value(), seen)
        x = x + decoder.feed_forward(weights, name, decoder.norm(weights, f"{name}.ln_2", x))
    return decoder.linear(weights, "head", decoder.norm(weights, "ln_f", x))[:, 0]
