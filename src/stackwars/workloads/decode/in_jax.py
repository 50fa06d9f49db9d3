"""A token of the decoder in JAX, its cache donated."""

import jax
import jax.numpy as jnp
import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads import transformer_jax as decoder
from stackwars.workloads.decode import cache
from stackwars.workloads.decode import parameters as shapes


def build(sizes, seed, put):
    """The weights and the cache on the device, and the function of both, a token and its position."""
    kept = {name: put(value) for name, value in cache(sizes, seed).items()}

    def function(parameters, cache, token, position):
        return logits(parameters, cache, token, position, sizes["heads"])

    function.leaves = lambda cache: {name: np.asarray(value) for name, value in cache.items()}
    return (fill_tree.tree(shapes(sizes), seed, put), kept), function


def logits(parameters, cache, token, position, heads):
    """token (batch,) and position () to (the new cache, logits (batch, vocabulary))."""
    new = {}
    x = parameters["wte"]["weight"][token] + parameters["wpe"]["weight"][position]
    x = x[:, None]
    for number, layer in enumerate(decoder.layers(parameters)):
        name = f"h.{number}"
        normal = decoder.norm(layer["ln_1"], x)
        q, k, v = decoder.queries_keys_values(layer["attn"], normal, heads)
        for part, value in (("key", k), ("value", v)):
            old = cache[f"{name}.{part}"]
            new[f"{name}.{part}"] = jax.lax.dynamic_update_slice_in_dim(old, value, position, 2)
        seen = jnp.arange(old.shape[2]) <= position
        x = x + decoder.mixed(layer["attn"], q, new[f"{name}.key"], new[f"{name}.value"], seen)
        x = x + decoder.feed_forward(layer["mlp"], decoder.norm(layer["ln_2"], x))
    return new, decoder.logits(parameters, x)[:, 0]
