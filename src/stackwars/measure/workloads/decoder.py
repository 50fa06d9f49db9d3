"""The blocks of the decoder of `transformer` in JAX, TensorFlow and torch, for training and decoding.

The caller decides what a block's attention sees: `mask` (queries, keys) is true for a key that a query sees.
"""

import math

from stackwars.measure.workloads.base import make_module
from stackwars.measure.workloads.transformer import EPSILON


class Blocks:
    """The blocks in JAX and TensorFlow, as functions of a layer's weights, which `base.nested` nests."""

    def __init__(self, xp):
        self.xp = xp

    def norm(self, layer, x):
        return self.xp.normalised(x, EPSILON) * layer["weight"] + layer["bias"]

    def queries_keys_values(self, layer, x, heads):
        """Return q, k and v, (batch, heads, sequence, width of a head), from x (batch, sequence, width)."""
        batch, sequence, width = x.shape
        parts = self.xp.split(linear(self.xp, layer["qkv"], x), 3, axis=-1)
        return [self.apart(part, (batch, sequence, heads, width // heads)) for part in parts]

    def apart(self, part, shape):
        """Divide (batch, sequence, width) into this shape, (batch, sequence, heads, width), and put heads first."""
        return self.xp.transpose(self.xp.reshape(part, shape), (0, 2, 1, 3))

    def mixed(self, layer, q, k, v, mask):
        """Return the attention of q over the k and v that it sees, projected."""
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


def decoder_in_torch(torch, sizes, positions, forward):
    """Return a torch module with all weights. forward: a function of the module and its inputs."""
    nn, width = torch.nn, sizes["hidden"]

    def feed_forward(self, x):
        return self.down(nn.functional.gelu(self.up(x), approximate="tanh"))

    def layer():
        qkv, out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        up, down = nn.Linear(width, sizes["intermediate"]), nn.Linear(sizes["intermediate"], width)
        return make_module(
            torch,
            None,
            ln_1=nn.LayerNorm(width, EPSILON),
            attn=make_module(torch, None, qkv=qkv, out=out),
            ln_2=nn.LayerNorm(width, EPSILON),
            mlp=make_module(torch, feed_forward, up=up, down=down),
        )

    return make_module(
        torch,
        forward,
        wte=nn.Embedding(sizes["vocabulary"], width),
        wpe=nn.Embedding(positions, width),
        h=nn.ModuleList([layer() for _ in range(sizes["layers"])]),
        ln_f=nn.LayerNorm(width, EPSILON),
        head=nn.Linear(width, sizes["vocabulary"], bias=False),
    )


def queries_keys_values_in_torch(attention, x, heads):
    """Return q, k and v, (batch, heads, sequence, width of a head), from x (batch, sequence, width)."""
    batch, sequence, width = x.shape
    return [
        part.view(batch, sequence, heads, width // heads).transpose(1, 2)
        for part in attention.qkv(x).chunk(3, dim=-1)
    ]


def mixed_in_torch(torch, attention, q, k, v, mask):
    """Return the attention of q over the k and v that it sees, projected."""
    batch, heads, sequence, width = q.shape
    scores = q @ k.transpose(-2, -1) / math.sqrt(width)
    together = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v
    return attention.out(together.transpose(1, 2).reshape(batch, sequence, heads * width))
