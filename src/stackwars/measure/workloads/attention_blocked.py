"""The function of `attention_window`, computed in blocks of as many queries as the window is long.

The queries of a block see keys of their own block and of the one before it, and of no other: scores are
(window, 2 window) for each block, half of which the mask still removes. Before the first block stands one of
zeros, which is masked. Sizes, inputs and weights are those of `attention_window`; the sequence
must be a multiple of the window.
"""

import math

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.attention_window import Window
from stackwars.measure.workloads.base import make_module, softmax
from stackwars.measure.workloads.mha import projections_in_torch

BEFORE = [(0, 0), (1, 0), (0, 0), (0, 0), (0, 0)]
"""Padding of (batch, blocks, ...) by one block in front."""


class Blocked(Window):
    """`with_previous` puts before each block of keys or values the one before it, along the window's axis."""

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


WORKLOAD = Blocked()
