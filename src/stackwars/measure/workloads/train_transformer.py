"""A training step of a decoder of GPT-2's width: next token, cross-entropy, backward, and AdamW.

What differs from GPT-2 is in `transformer`.
"""

from types import SimpleNamespace

from stackwars.measure.workloads import adamw, counts, decoder, parallel, transformer, values


class TrainTransformer(adamw.Training):
    TITLE, ORDER = "Train transformer", 310
    SIZES = {**transformer.SIZES, "sequence": "tokens of a sequence that are predicted from"}
    TENSOR_PARALLEL = transformer.TENSOR_PARALLEL
    APART = 3.7e-4
    """Three draws of `losses.apart` at the sizes of the full preset gave 1.9e-4, 2.2e-4 and 3.6e-4.

    The loss falls to 0.003, and the rounding of the sum of a softmax, which is near 1 then, does not.
    """

    def inputs(self, sizes, seed):
        """Return tokens (batch, sequence + 1), int32: each but the first is predicted from those before it."""
        shape = (sizes["batch"], sizes["sequence"] + 1)
        return {"tokens": values.tokens("tokens", shape, seed, sizes["vocabulary"])}

    def parameters(self, sizes):
        return transformer.parameters(sizes, sizes["sequence"])

    def flops(self, sizes):
        """Return the operations: forward once, backward twice that."""
        width = sizes["hidden"]
        layer = counts.encoder(sizes["batch"], sizes["sequence"], width, sizes["intermediate"])
        rows = sizes["batch"] * sizes["sequence"]
        return 3 * (sizes["layers"] * layer + counts.matmul(rows, width, sizes["vocabulary"]))

    def minimum_bytes(self, sizes):
        """Return the bytes of weights and both moments, read and written once."""
        return 24 * self.parameter_count(sizes)

    def longest(self, sizes):
        return max(sizes["vocabulary"], sizes["intermediate"], sizes["batch"] * sizes["sequence"])

    def in_jax(self, sizes, jax, parameters, tokens):
        blocks = decoder.blocks_in_jax(jax)
        return mean_loss_in_jax(jax, parameters, tokens, sizes["heads"], blocks)

    def divided_in_jax(self, sizes, jax, parameters, tokens):
        """Every device has a part of each product's weight.

        Of queries, keys and values, which are one product, each device needs those of its heads: they are
        gathered, as the logits are.
        """
        blocks = divided_blocks_in_jax(jax)
        return mean_loss_in_jax(jax, parameters, tokens, sizes["heads"], blocks)

    def in_tensorflow(self, sizes, tf, weights, tokens):
        blocks = decoder.blocks_in_tensorflow(tf)
        before, after = tokens[:, :-1], tokens[:, 1:]
        sequence = before.shape[1]
        x = tf.gather(weights["wte.weight"], before) + weights["wpe.weight"]
        causal = tf.linalg.band_part(tf.ones((sequence, sequence), tf.bool), -1, 0)
        for number in range(sizes["layers"]):
            name = f"h.{number}"
            normal = blocks.norm(weights, f"{name}.ln_1", x)
            q, k, v = blocks.queries_keys_values(weights, name, normal, sizes["heads"])
            x = x + blocks.mixed(weights, name, q, k, v, causal)
            x = x + blocks.feed_forward(weights, name, blocks.norm(weights, f"{name}.ln_2", x))
        logits = blocks.logits(weights, x)
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=after, logits=logits)
        return tf.reduce_mean(each)

    def in_numpy(self, sizes, weights, tokens, rounding=None):
        return transformer.loss_and_gradients(weights, tokens, sizes["heads"], rounding)

    def in_torch(self, sizes, torch):
        functional = torch.nn.functional

        class Loss(decoder.decoder_in_torch(torch)):
            def forward(self, tokens):
                before, after = tokens[:, :-1], tokens[:, 1:]
                shape = (before.shape[1], before.shape[1])
                x = self.wte(before) + self.wpe.weight
                causal = torch.ones(shape, dtype=torch.bool, device=tokens.device).tril()
                for layer in self.h:
                    q, k, v = layer.attn.queries_keys_values(layer.ln_1(x))
                    x = x + layer.attn.mixed(q, k, v, causal)
                    x = x + layer.mlp(layer.ln_2(x))
                logits = self.head(self.ln_f(x))
                return functional.cross_entropy(logits.flatten(0, 1), after.flatten().long())

        return Loss(sizes, sizes["sequence"])


def mean_loss_in_jax(jax, parameters, tokens, heads, blocks):
    """Return the mean cross-entropy of all tokens (batch, sequence + 1) but the first."""
    import optax

    jnp = jax.numpy
    before, after = tokens[:, :-1], tokens[:, 1:]
    sequence = before.shape[1]
    x = parameters["wte"]["weight"][before] + parameters["wpe"]["weight"]
    causal = jnp.tril(jnp.ones((sequence, sequence), bool))
    for layer in blocks.layers(parameters):
        normal = blocks.norm(layer["ln_1"], x)
        q, k, v = blocks.queries_keys_values(layer["attn"], normal, heads)
        x = x + blocks.mixed(layer["attn"], q, k, v, causal)
        x = x + blocks.feed_forward(layer["mlp"], blocks.norm(layer["ln_2"], x))
    logits = blocks.logits(parameters, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, after).mean()


def divided_blocks_in_jax(jax):
    """Return the decoder's blocks on one of several devices."""
    jnp = jax.numpy
    blocks = decoder.blocks_in_jax(jax)

    def queries_keys_values(layer, x, heads):
        """Return those of this device's heads."""
        qkv = gathered(x @ layer["qkv"]["kernel"])
        batch, sequence, _ = x.shape
        own = heads // jax.lax.axis_size(parallel.AXIS)
        first = own * jax.lax.axis_index(parallel.AXIS)
        parts = [
            part.reshape(batch, sequence, heads, -1).transpose(0, 2, 1, 3)
            for part in jnp.split(qkv, 3, axis=-1)
        ]
        return [jax.lax.dynamic_slice_in_dim(part, first, own, axis=1) for part in parts]

    def gathered(part):
        return jax.lax.all_gather(part, parallel.AXIS, axis=-1, tiled=True)

    def added(block, layer, last, *given):
        """A block whose last product's inputs are divided: the devices' shares added, and the bias once."""
        share = block({**layer, last: {"kernel": layer[last]["kernel"]}}, *given)
        return jax.lax.psum(share, parallel.AXIS) + layer[last]["bias"]

    return SimpleNamespace(
        norm=blocks.norm,
        layers=blocks.layers,
        queries_keys_values=queries_keys_values,
        mixed=lambda layer, *given: added(blocks.mixed, layer, "out", *given),
        feed_forward=lambda layer, x: added(blocks.feed_forward, layer, "down", x),
        logits=lambda parameters, x: gathered(blocks.logits(parameters, x)),
    )


WORKLOAD = TrainTransformer()
