"""The decoder's training step in JAX."""

import jax
import jax.numpy as jnp
import optax

from stackwars.workloads import fill_tree, parallel, train_jax
from stackwars.workloads import transformer_jax as decoder
from stackwars.workloads.train_transformer import parameters as shapes


def build(sizes, seed, put):
    """The state on the device, and the step."""

    def loss(parameters, tokens):
        return mean_loss(parameters, tokens, sizes["heads"])

    return train_jax.stepping(fill_tree.tree(shapes(sizes), seed, put), loss)


def divided(sizes):
    """The step where every device has a part of each product's weight.

    Of queries, keys and values, which are one product, each device needs those of its heads: they are gathered,
    as the logits are.
    """

    def loss(parameters, tokens):
        return mean_loss(parameters, tokens, sizes["heads"], _Divided)

    return train_jax.step(loss)


def mean_loss(parameters, tokens, heads, blocks=decoder):
    """tokens (batch, sequence + 1) to the mean cross-entropy of each but the first."""
    before, after = tokens[:, :-1], tokens[:, 1:]
    sequence = before.shape[1]
    x = parameters["wte"]["weight"][before] + parameters["wpe"]["weight"]
    causal = jnp.tril(jnp.ones((sequence, sequence), bool))
    for layer in decoder.layers(parameters):
        normal = decoder.norm(layer["ln_1"], x)
        q, k, v = blocks.queries_keys_values(layer["attn"], normal, heads)
        x = x + blocks.mixed(layer["attn"], q, k, v, causal)
        x = x + blocks.feed_forward(layer["mlp"], decoder.norm(layer["ln_2"], x))
    logits = blocks.logits(parameters, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, after).mean()


class _Divided:
    """The decoder's blocks on one of several devices."""

    @staticmethod
    def queries_keys_values(layer, x, heads):
        """Those of this device's heads."""
        gathered = _gathered(x @ layer["qkv"]["kernel"])
        batch, sequence, _ = x.shape
        own = heads // jax.lax.axis_size(parallel.AXIS)
        first = own * jax.lax.axis_index(parallel.AXIS)
        parts = [
            part.reshape(batch, sequence, heads, -1).transpose(0, 2, 1, 3)
            for part in jnp.split(gathered, 3, axis=-1)
        ]
        return [jax.lax.dynamic_slice_in_dim(part, first, own, axis=1) for part in parts]

    @staticmethod
    def mixed(layer, *given):
        return _added(decoder.mixed, layer, "out", *given)

    @staticmethod
    def feed_forward(layer, x):
        return _added(decoder.feed_forward, layer, "down", x)

    @staticmethod
    def logits(parameters, x):
        return _gathered(decoder.logits(parameters, x))


def _gathered(part):
    return jax.lax.all_gather(part, parallel.AXIS, axis=-1, tiled=True)


def _added(block, layer, last, *given):
    """A block whose last product's inputs are divided: the sum of the devices' shares, and the bias once."""
    share = block({**layer, last: {"kernel": layer[last]["kernel"]}}, *given)
    return jax.lax.psum(share, parallel.AXIS) + layer[last]["bias"]
