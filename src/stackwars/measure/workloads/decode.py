"""One token of a decoder of GPT-2's form with a key-value cache: what generating text repeats.

A call computes the logits that follow a token, and writes its keys and values into the cache, in place. The
cache has room for `positions`, and the token's position is an input, as it is where a program is compiled once
and used for every token. Both sets of inputs have the same position, so the cache does not fill up while calls
are timed: each call overwrites what the last one wrote. `decoder` has the differences to GPT-2.
"""

import numpy as np

from stackwars.measure.workloads import counts, decoder, values
from stackwars.measure.workloads.base import Workload, nested


class Decode(Workload):
    TITLE, TABLE, ORDER = "Decode", "beyond", 420
    STATE = "keys and values of the tokens so far"
    SIZES = {
        **decoder.SIZES,
        "positions": "tokens that the cache has room for",
        "past": "tokens in the cache before the call",
    }
    FLAT = ("tensorflow", "numpy")

    def problems(self, sizes):
        if sizes["past"] < sizes["positions"]:
            return {}
        return {"past": f"fewer than positions, {sizes['positions']}"}

    def inputs(self, sizes, seed):
        """Return token (batch,) and position (), int32. Raises ValueError for sizes that have problems."""
        self.refuse_problems(sizes)
        return {
            "token": values.tokens("token", (sizes["batch"],), seed, sizes["vocabulary"]),
            "position": np.asarray(sizes["past"], np.int32),
        }

    def parameters(self, sizes):
        return decoder.parameters(sizes, sizes["positions"])

    def state(self, sizes, seed):
        """Return the cache at first, each (batch, heads, positions, width of a head), float32.

        It is drawn like a weight, so that a program that is lowered without values names it, and beyond the past
        too, which no token may see.
        """
        heads, layers = sizes["heads"], range(sizes["layers"])
        shape = (sizes["batch"], heads, sizes["positions"], sizes["hidden"] // heads)
        names = [f"h.{layer}.{part}" for layer in layers for part in ("key", "value")]
        return {name: values.leaf(name, shape, seed) for name in names}

    def flops(self, sizes):
        """Return the operations as in the base, with attention to the full cache."""
        batch, width = sizes["batch"], sizes["hidden"]
        layer = counts.matmul(batch, width, 4 * width + 2 * sizes["intermediate"])
        layer += counts.attention(batch, 1, sizes["positions"], width)
        return sizes["layers"] * layer + counts.matmul(batch, width, sizes["vocabulary"])

    def minimum_bytes(self, sizes):
        """Return the bytes of the weights that are read, and of the cache up to the token."""
        width, used = sizes["hidden"], min(sizes["batch"], sizes["vocabulary"])
        read = self.parameter_count(sizes) - counts.unread(sizes["vocabulary"], used, width)
        read -= counts.unread(sizes["positions"], 1, width)
        return 4 * (read + 2 * sizes["layers"] * sizes["batch"] * (sizes["past"] + 1) * width)

    def form(self, dialect, sizes, xp, *framework):
        """Return the function of an array dialect; those that have a framework take xp before it."""
        return super().form(dialect, sizes, xp, *((xp, *framework) if framework else ()))

    def in_jax(self, sizes, xp, jax, weights, cache, token, position):
        new = {}

        def written(names, *parts):
            for name, part in zip(names, parts, strict=True):
                new[name] = jax.lax.dynamic_update_slice_in_dim(cache[name], part, position, 2)
            keys, read = (new[name] for name in names)
            return keys, read, xp.arange(keys.shape[2]) <= position

        return new, logits(sizes, xp, weights, token, position, written)

    def in_tensorflow(self, sizes, xp, tf, weights, cache, token, position):
        def written(names, k, v):
            keys, read = (cache[name] for name in names)
            here = tf.range(keys.shape[2])[:, None] == position
            keys.assign(tf.where(here, k, keys))
            read.assign(tf.where(here, v, read))
            seen = tf.range(keys.shape[2]) <= position
            return keys.read_value(), read.read_value(), seen

        return logits(sizes, xp, weights, token, position, written)

    def in_numpy(self, sizes, weights, cache, token, position):
        return decoder.decoded(weights, cache, token, int(position), sizes["heads"])

    def in_torch(self, sizes, torch):
        heads = sizes["heads"]

        def forward(self, token, position):
            x = (self.wte(token) + self.wpe(position))[:, None]
            at = position.view(1).long()
            for number, layer in enumerate(self.h):
                q, k, v = decoder.queries_keys_values_in_torch(layer.attn, layer.ln_1(x), heads)
                keys, read = getattr(self, f"key_{number}"), getattr(self, f"value_{number}")
                keys.index_copy_(2, at, k)
                read.index_copy_(2, at, v)
                seen = torch.arange(keys.shape[2], device=at.device) <= at
                x = x + decoder.mixed_in_torch(torch, layer.attn, q, keys, read, seen)
                x = x + layer.mlp(layer.ln_2(x))
            return self.head(self.ln_f(x))[:, 0]

        module = decoder.decoder_in_torch(torch, sizes, sizes["positions"], forward)
        places = [(number, part) for number in range(sizes["layers"]) for part in ("key", "value")]
        module.leaves = lambda: {f"h.{n}.{part}": getattr(module, f"{part}_{n}") for n, part in places}
        return module

    def finish_in_torch(self, module, sizes, seed, put):
        for name, value in self.state(sizes, seed).items():
            _, number, part = name.split(".")
            module.register_buffer(f"{part}_{number}", put(value))


def logits(sizes, xp, weights, token, position, written):
    """Return the logits (batch, vocabulary) that follow a token (batch,) at a position, in JAX or TensorFlow.

    written: a function of two names in the cache, keys and values of the token. It returns the layer's keys and values
    with those of the token, and the mask of the positions that the token sees.
    """
    blocks, weights = decoder.Blocks(xp), nested(weights)
    x = xp.rows(weights["wte"]["weight"], token) + xp.rows(weights["wpe"]["weight"], position)
    x = x[:, None]
    for number, layer in enumerate(blocks.layers(weights)):
        normal = blocks.norm(layer["ln_1"], x)
        q, k, v = blocks.queries_keys_values(layer["attn"], normal, sizes["heads"])
        x = x + blocks.mixed(layer["attn"], q, *written((f"h.{number}.key", f"h.{number}.value"), k, v))
        x = x + blocks.feed_forward(layer["mlp"], blocks.norm(layer["ln_2"], x))
    return blocks.logits(weights, x)[:, 0]


WORKLOAD = Decode()
