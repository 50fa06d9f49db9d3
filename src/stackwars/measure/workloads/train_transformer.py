"""A training step of a decoder of GPT-2's width: next token, cross-entropy, backward, and AdamW.

`decoder` has the differences to GPT-2.
"""

from stackwars.measure.workloads import adamw, counts, decoder, parallel, values
from stackwars.measure.workloads.base import nested


class TrainTransformer(adamw.Training):
    TITLE, ORDER = "Train transformer", 310
    SIZES = {**decoder.SIZES, "sequence": "tokens of a sequence that are predicted from"}
    TENSOR_PARALLEL = decoder.TENSOR_PARALLEL
    APART = 3.7e-4
    """Three draws of `losses.apart` at the sizes of the full preset gave 1.9e-4, 2.2e-4 and 3.6e-4.

    The loss falls to 0.003, and the rounding of the sum of a softmax, which is near 1 then, does not.
    """

    def inputs(self, sizes, seed):
        """Return tokens (batch, sequence + 1), int32: each but the first is predicted from those before it."""
        shape = (sizes["batch"], sizes["sequence"] + 1)
        return {"tokens": values.tokens("tokens", shape, seed, sizes["vocabulary"])}

    def parameters(self, sizes):
        return decoder.parameters(sizes, sizes["sequence"])

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

    def in_arrays(self, sizes, xp, weights, tokens):
        return mean_loss(decoder.Blocks(xp), nested(weights), tokens, sizes["heads"])

    def divided_in_jax(self, sizes, xp, jax, parameters, tokens):
        """Every device has a part of each product's weight.

        Queries, keys and values are one product, of which each device needs the columns of its heads: they are
        gathered, as the logits are.
        """
        return mean_loss(DividedBlocks(xp, jax), parameters, tokens, sizes["heads"])

    def in_numpy(self, sizes, weights, tokens, rounding=None):
        return decoder.loss_and_gradients(weights, tokens, sizes["heads"], rounding)

    def in_torch(self, sizes, torch):
        heads = sizes["heads"]

        def forward(self, tokens):
            before, after = tokens[:, :-1], tokens[:, 1:]
            shape = (before.shape[1], before.shape[1])
            x = self.wte(before) + self.wpe.weight
            causal = torch.ones(shape, dtype=torch.bool, device=tokens.device).tril()
            for layer in self.h:
                q, k, v = decoder.queries_keys_values_in_torch(layer.attn, layer.ln_1(x), heads)
                x = x + decoder.mixed_in_torch(torch, layer.attn, q, k, v, causal)
                x = x + layer.mlp(layer.ln_2(x))
            logits = self.head(self.ln_f(x))
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), after.flatten().long())

        return decoder.decoder_in_torch(torch, sizes, sizes["sequence"], forward)


def mean_loss(blocks, weights, tokens, heads):
    """Return the mean cross-entropy of all tokens (batch, sequence + 1) but the first."""
    xp, before, after = blocks.xp, tokens[:, :-1], tokens[:, 1:]
    x = xp.rows(weights["wte"]["weight"], before) + weights["wpe"]["weight"]
    causal = xp.causal(before.shape[1])
    for layer in blocks.layers(weights):
        normal = blocks.norm(layer["ln_1"], x)
        q, k, v = blocks.queries_keys_values(layer["attn"], normal, heads)
        x = x + blocks.mixed(layer["attn"], q, k, v, causal)
        x = x + blocks.feed_forward(layer["mlp"], blocks.norm(layer["ln_2"], x))
    return xp.cross_entropy(blocks.logits(weights, x), after)


class DividedBlocks(decoder.Blocks):
    """The blocks in JAX on one of several devices."""

    def __init__(self, xp, jax):
        super().__init__(xp)
        self.lax = jax.lax

    def queries_keys_values(self, layer, x, heads):
        """Return the queries, keys and values of this device's heads."""
        qkv = self.gathered(x @ layer["qkv"]["kernel"])
        batch, sequence, _ = x.shape
        own = heads // self.lax.axis_size(parallel.AXIS)
        first = own * self.lax.axis_index(parallel.AXIS)
        parts = [self.apart(part, (batch, sequence, heads, -1)) for part in self.xp.split(qkv, 3, axis=-1)]
        return [self.lax.dynamic_slice_in_dim(part, first, own, axis=1) for part in parts]

    def mixed(self, layer, *arrays):
        return self.added(super().mixed, layer, "out", *arrays)

    def feed_forward(self, layer, x):
        return self.added(super().feed_forward, layer, "down", x)

    def logits(self, weights, x):
        return self.gathered(super().logits(weights, x))

    def gathered(self, part):
        return self.lax.all_gather(part, parallel.AXIS, axis=-1, tiled=True)

    def added(self, block, layer, last, *arrays):
        """Return a block whose last product has divided inputs: the devices' shares added, and the bias once."""
        share = block({**layer, last: {"kernel": layer[last]["kernel"]}}, *arrays)
        return self.lax.psum(share, parallel.AXIS) + layer[last]["bias"]


WORKLOAD = TrainTransformer()
