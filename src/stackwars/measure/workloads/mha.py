"""Multi-head self-attention: one combined QKV projection, softmax, output projection.

Attention follows Vaswani et al., 2017, section 3.2: softmax(q k^T / sqrt(width of a head)) v.
"""

import math

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import Workload, make_module, softmax


class Attention(Workload):
    """All scores are computed, and a subclass may hide some from the softmax."""

    SIZES = {**Workload.SIZES, "heads": "attention heads, which divide the features"}

    def parameters(self, sizes):
        """Return the shapes; rows of qkv are q, then k, then v."""
        width = sizes["features"]
        return counts.linear("qkv", width, 3 * width) | counts.linear("out", width, width)

    def flops(self, sizes):
        """Return the operations; masked positions count."""
        batch, sequence, width = sizes["batch"], sizes["sequence"], sizes["features"]
        projections = counts.matmul(batch * sequence, width, 4 * width)
        return projections + counts.attention(batch, sequence, sequence, width)

    def masked(self, scores, sizes, xp):
        """Return the scores (..., queries, keys) with those that a query does not see set to minus infinity.

        The scores decide the sequence: a function is also called with others than the one in `sizes`.
        """
        return scores

    def mask_in_torch(self, sizes, torch):
        """Return a function of scores that does what `masked` does."""
        return lambda scores: scores

    def in_arrays(self, sizes, xp, parameters, x):
        heads = sizes["heads"]
        batch, sequence, width = x.shape
        qkv = x @ parameters["qkv"]["kernel"] + parameters["qkv"]["bias"]
        qkv = xp.reshape(qkv, (batch, sequence, 3 * heads, width // heads))
        q, k, v = xp.split(qkv, 3, axis=2)
        scores = xp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width // heads)
        scores = self.masked(scores, sizes, xp)
        mixed = xp.einsum("bhqk,bkhd->bqhd", xp.softmax(scores, axis=-1), v)
        mixed = xp.reshape(mixed, (batch, sequence, width))
        return mixed @ parameters["out"]["kernel"] + parameters["out"]["bias"]

    def in_numpy(self, sizes, parameters, x):
        heads = sizes["heads"]
        batch, sequence, width = x.shape
        qkv = x @ parameters["qkv"]["kernel"] + parameters["qkv"]["bias"]
        q, k, v = (
            part.reshape(batch, sequence, heads, width // heads).transpose(0, 2, 1, 3)
            for part in np.split(qkv, 3, axis=-1)
        )
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // heads)
        mixed = softmax(self.masked(scores, sizes, np), axis=-1) @ v
        mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, sequence, width)
        return mixed @ parameters["out"]["kernel"] + parameters["out"]["bias"]

    def in_torch(self, sizes, torch):
        heads, masked = sizes["heads"], self.mask_in_torch(sizes, torch)

        def forward(self, x):
            batch, sequence, width = x.shape
            q, k, v = (
                part.view(batch, sequence, heads, width // heads).transpose(1, 2)
                for part in self.qkv(x).chunk(3, dim=-1)
            )
            scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
            mixed = torch.softmax(masked(scores), dim=-1) @ v
            return self.out(mixed.transpose(1, 2).reshape(batch, sequence, width))

        return make_module(torch, forward, **projections_in_torch(sizes, torch))


def projections_in_torch(sizes, torch):
    """Return the layers of the torch module: queries, keys and values in one product, and the output."""
    width, linear = sizes["features"], torch.nn.Linear
    return {"qkv": linear(width, 3 * width), "out": linear(width, width)}


class MHA(Attention):
    TITLE, TABLE, ORDER = "MHA", "I", 40


WORKLOAD = MHA()
