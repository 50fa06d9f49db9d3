"""The blocks of the decoder of `transformer` in JAX, TensorFlow and torch, for training and decoding.

What a block's attention sees is the caller's: `mask` (queries, keys) is true for a key that a query sees.
"""

import math

from stackwars.measure.workloads.transformer import EPSILON


class Blocks:
    """The blocks in JAX and TensorFlow, as functions of a layer's weights, which `base.nested` nests."""

    def __init__(self, xp):
        self.xp = xp

    def norm(self, layer, x):
        return self.xp.normalised(x, EPSILON) * layer["weight"] + layer["bias"]

    def queries_keys_values(self, layer, x, heads):
        """Three of (batch, heads, sequence, width of a head) from x (batch, sequence, width)."""
        batch, sequence, width = x.shape
        parts = self.xp.split(linear(self.xp, layer["qkv"], x), 3, axis=-1)
        return [self.apart(part, (batch, sequence, heads, width // heads)) for part in parts]

    def apart(self, part, shape):
        """Divide (batch, sequence, width) into this shape, (batch, sequence, heads, width), and put heads first."""
        return self.xp.transpose(self.xp.reshape(part, shape), (0, 2, 1, 3))

    def mixed(self, layer, q, k, v, mask):
        """Attention of q over those k and v that it sees, and the projection of what it mixed."""
        batch, heads, sequence, width = q.shape
        scores = self.xp.linear(q, k) / math.sqrt(width)
        shares = self.xp.softmax(self.xp.where(mask, scores, -math.inf), axis=-1)
        together = self.xp.transpose(shares @ v, (0, 2, 1, 3))
        together = self.xp.reshape(together, (batch, sequence, heads * width))
        return linear(self.xp, layer["out"], together)

    def feed_forward(self, layer, x):
        return linear(self.xp, layer["down"], self.xp.gelu_tanh(linear(self.xp, layer["up"], x)))

    def layers(self, weights):
        """Return the layers in order."""
        return [weights["h"][str(number)] for number in range(len(weights["h"]))]

    def logits(self, weights, x):
        return linear(self.xp, weights["head"], self.norm(weights["ln_f"], x))


def linear(xp, layer, x):
    """Return x through a linear layer, whose weight is "kernel" (inputs, outputs) or "weight" (outputs, inputs)."""
    product = x @ layer["kernel"] if "kernel" in layer else xp.linear(x, layer["weight"])
    return product + layer["bias"] if "bias" in layer else product


def decoder_in_torch(torch):
    """Return the class of a module with all weights; how the parts are put together is its subclass's."""
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.out = nn.Linear(width, width)

        def queries_keys_values(self, x):
            """Three of (batch, heads, sequence, width of a head) from x (batch, sequence, width)."""
            batch, sequence, width = x.shape
            return [
                part.view(batch, sequence, self.heads, width // self.heads).transpose(1, 2)
                for part in self.qkv(x).chunk(3, dim=-1)
            ]

        def mixed(self, q, k, v, mask):
            """Attention of q over those k and v that it sees, and the projection of what it mixed."""
            batch, heads, sequence, width = q.shape
            scores = q @ k.transpose(-2, -1) / math.sqrt(width)
            together = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v
            return self.out(together.transpose(1, 2).reshape(batch, sequence, heads * width))

    class FeedForward(nn.Module):
        def __init__(self, width, inner):
            super().__init__()
            self.up = nn.Linear(width, inner)
            self.down = nn.Linear(inner, width)

        def forward(self, x):
            return self.down(functional.gelu(self.up(x), approximate="tanh"))

    class Layer(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            width = sizes["hidden"]
            self.ln_1 = nn.LayerNorm(width, EPSILON)
            self.attn = Attention(width, sizes["heads"])
            self.ln_2 = nn.LayerNorm(width, EPSILON)
            self.mlp = FeedForward(width, sizes["intermediate"])

    class Decoder(nn.Module):
        def __init__(self, sizes, positions):
            super().__init__()
            width, vocabulary = sizes["hidden"], sizes["vocabulary"]
            self.wte = nn.Embedding(vocabulary, width)
            self.wpe = nn.Embedding(positions, width)
            self.h = nn.ModuleList([Layer(sizes) for _ in range(sizes["layers"])])
            self.ln_f = nn.LayerNorm(width, EPSILON)
            self.head = nn.Linear(width, vocabulary, bias=False)

    return Decoder
