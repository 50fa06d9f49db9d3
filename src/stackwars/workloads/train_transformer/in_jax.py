"""The decoder's training step in JAX."""

import jax.numpy as jnp
import optax

from stackwars.workloads import fill_tree, train_jax
from stackwars.workloads import transformer_jax as decoder
from stackwars.workloads.train_transformer import parameters as shapes


def build(sizes, seed, put):
    """The state on the device, and the step."""

    def loss(parameters, tokens):
        return mean_loss(parameters, tokens, sizes["heads"])

    return train_jax.stepping(fill_tree.tree(shapes(sizes), seed, put), loss)


def mean_loss(parameters, tokens, heads):
    """tokens (batch, sequence + 1) to the mean cross-entropy of each but the first."""
    before, after = tokens[:, :-1], tokens[:, 1:]
    sequence = before.shape[1]
    x = parameters["wte"]["weight"][before] + parameters["wpe"]["weight"]
    causal = jnp.tril(jnp.ones((sequence, sequence), bool))
    for layer in decoder.layers(parameters):
        normal = decoder.norm(layer["ln_1"], x)
        q, k, v = decoder.queries_keys_values(layer["attn"], normal, heads)
        x = x + decoder.mixed(layer["attn"], q, k, v, causal)
        x = x + decoder.feed_forward(layer["mlp"], decoder.norm(layer["ln_2"], x))
    logits = decoder.logits(parameters, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, after).mean()
