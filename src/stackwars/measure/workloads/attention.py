"""Multi-head self-attention: one combined QKV projection, softmax, output projection.

Attention follows Vaswani et al., 2017, section 3.2: softmax(q k^T / sqrt(width of a head)) v. `mha` sees all positions;
`attention_window` masks those outside a causal window, and `attention_blocked` computes the same function from the same
weights without most of the scores that are masked there.
"""

import math

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import Workload, make_module, softmax

BEFORE = [(0, 0), (1, 0), (0, 0), (0, 0), (0, 0)]
"""Padding of (batch, blocks, ...) by one block in front."""


class Attention(Workload):
    """All scores are computed, and a subclass may hide some from the softmax."""

    TITLE, TABLE, ORDER = "MHA", "I", 40
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


class Window(Attention):
    """Causal self-attention within a window: a position sees itself and the window - 1 positions before it.

    All scores of a sequence are computed, and those outside the window are set to minus infinity before the softmax.
    Every position sees at least itself, so no row of the softmax is empty.
    """

    TITLE, TABLE, ORDER = "Attention, window", "beyond", 360
    SIZES = {**Attention.SIZES, "window": "positions that a position sees, itself included"}

    def problems(self, sizes):
        if sizes["window"] > sizes["sequence"]:
            return {"window": f"at most the sequence, {sizes['sequence']}"}
        return {}

    def parameters(self, sizes):
        self.refuse_problems(sizes)
        return super().parameters(sizes)

    def masked(self, scores, sizes, xp):
        positions = xp.arange(scores.shape[-1])
        distance = positions[:, None] - positions
        return xp.where((distance >= 0) & (distance < sizes["window"]), scores, -math.inf)

    def mask_in_torch(self, sizes, torch):
        window = sizes["window"]

        def masked(scores):
            positions = torch.arange(scores.shape[-1], device=scores.device)
            distance = positions[:, None] - positions
            hidden = (distance < 0) | (distance >= window)
            return scores.masked_fill(hidden, -math.inf)

        return masked


class Blocked(Window):
    """The function of `attention_window`, computed in blocks of as many queries as the window is long.

    The queries of a block see keys of their own block and of the one before it, and of no other: scores are
    (window, 2 window) for each block, half of which the mask still removes. Before the first block stands one of
    zeros, which is masked. The sequence must be a multiple of the window. `with_previous` puts before each block of
    keys or values the one before it, along the window's axis.
    """

    TITLE, ORDER, FORM_OF = "Attention, blocked", 370, "attention_window"

    def problems(self, sizes):
        if result := super().problems(sizes):
            return result
        if sizes["sequence"] % sizes["window"]:
            return {"window": f"a divisor of the sequence, {sizes['sequence']}"}
        return {}

    def flops(self, sizes):
        batch, sequence, width = sizes["batch"], sizes["sequence"], sizes["features"]
        blocks, window = batch * sequence // sizes["window"], sizes["window"]
        projections = counts.matmul(batch * sequence, width, 4 * width)
        return projections + counts.attention(blocks, window, 2 * window, width)

    def in_arrays(self, sizes, xp, parameters, x):
        heads, window = sizes["heads"], sizes["window"]

        def with_previous(x):
            return xp.concatenate([xp.pad(x[:, :-1], BEFORE), x], axis=2)

        batch, sequence, width = x.shape
        blocks = sequence // window
        qkv = x @ parameters["qkv"]["kernel"] + parameters["qkv"]["bias"]
        qkv = xp.reshape(qkv, (batch, blocks, window, 3 * heads, width // heads))
        q, k, v = xp.split(qkv, 3, axis=3)
        k, v = with_previous(k), with_previous(v)
        scores = xp.einsum("bnqhd,bnkhd->bnhqk", q, k) / math.sqrt(width // heads)
        scores = xp.where(visible(blocks, window, xp)[:, None], scores, -math.inf)
        mixed = xp.einsum("bnhqk,bnkhd->bnqhd", xp.softmax(scores, axis=-1), v)
        mixed = xp.reshape(mixed, (batch, sequence, width))
        return mixed @ parameters["out"]["kernel"] + parameters["out"]["bias"]

    def in_numpy(self, sizes, parameters, x):
        heads, window = sizes["heads"], sizes["window"]

        def with_previous(x):
            return np.concatenate([np.pad(x[:, :-1], BEFORE), x], axis=3)

        batch, sequence, width = x.shape
        blocks = sequence // window
        qkv = x @ parameters["qkv"]["kernel"] + parameters["qkv"]["bias"]
        q, k, v = (
            part.reshape(batch, blocks, window, heads, width // heads).swapaxes(2, 3)
            for part in np.split(qkv, 3, axis=-1)
        )
        k, v = with_previous(k), with_previous(v)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(width // heads)
        scores = np.where(visible(blocks, window, np)[:, None], scores, -math.inf)
        mixed = softmax(scores, axis=-1) @ v
        mixed = mixed.swapaxes(2, 3).reshape(batch, sequence, width)
        return mixed @ parameters["out"]["kernel"] + parameters["out"]["bias"]

    def in_torch(self, sizes, torch):
        heads, window = sizes["heads"], sizes["window"]

        def forward(self, x):
            batch, sequence, width = x.shape
            blocks = sequence // window
            q, k, v = (
                part.view(batch, blocks, window, heads, width // heads).transpose(2, 3)
                for part in self.qkv(x).chunk(3, dim=-1)
            )
            k, v = with_previous(k), with_previous(v)
            scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
            scores = scores.masked_fill(hidden(blocks, x.device), -math.inf)
            mixed = torch.softmax(scores, dim=-1) @ v
            return self.out(mixed.transpose(2, 3).reshape(batch, sequence, width))

        def with_previous(x):
            previous = torch.nn.functional.pad(x[:, :-1], (0, 0, 0, 0, 0, 0, 1, 0))
            return torch.cat([previous, x], dim=3)

        def hidden(blocks, device):
            """Return the negation of `visible`, (blocks, 1, window, 2 window)."""
            block = torch.arange(blocks, device=device)[:, None, None, None]
            query = torch.arange(window, device=device)[:, None]
            key = torch.arange(2 * window, device=device) - window
            return (key > query) | (key <= query - window) | ((block == 0) & (key < 0))

        return make_module(torch, forward, **projections_in_torch(sizes, torch))


def visible(blocks, window, xp):
    """Return whether a query sees a key, (blocks, window, 2 window); none sees those before the first block."""
    block = xp.arange(blocks)[:, None, None]
    query = xp.arange(window)[:, None]
    key = xp.arange(2 * window) - window
    return (key <= query) & (key > query - window) & ((block > 0) | (key >= 0))


WORKLOADS = {"mha": Attention(), "attention_window": Window(), "attention_blocked": Blocked()}
