"""Self-attention within a window in torch, block by block."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from stackwars.workloads.attention_blocked import parameters as shapes
from stackwars.workloads.fill_torch import fill


class Attention(nn.Module):
    """(batch, sequence, features) to the same."""

    def __init__(self, features, heads, window):
        super().__init__()
        self.heads, self.window = heads, window
        self.qkv = nn.Linear(features, 3 * features)
        self.out = nn.Linear(features, features)

    def forward(self, x):
        batch, sequence, width = x.shape
        blocks = sequence // self.window
        q, k, v = (
            part.view(batch, blocks, self.window, self.heads, width // self.heads).transpose(2, 3)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        k, v = with_previous(k), with_previous(v)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(hidden(blocks, self.window, x.device), -math.inf)
        mixed = torch.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(2, 3).reshape(batch, sequence, width))


def with_previous(x):
    """(batch, blocks, heads, window, width) to (..., 2 window, width): before each block the one before it."""
    previous = F.pad(x[:, :-1], (0, 0, 0, 0, 0, 0, 1, 0))
    return torch.cat([previous, x], dim=3)


def hidden(blocks, window, device):
    """(blocks, 1, window, 2 window): whether a query does not see a key. None sees the zeros before the first
    block.
    """
    block = torch.arange(blocks, device=device)[:, None, None, None]
    query = torch.arange(window, device=device)[:, None]
    key = torch.arange(2 * window, device=device) - window
    return (key > query) | (key <= query - window) | ((block == 0) & (key < 0))


def build(sizes, seed, put):
    """The module with its weights on the device."""
    with torch.device("meta"):
        module = Attention(sizes["features"], sizes["heads"], sizes["window"])
    return fill(module, shapes(sizes), seed, put)
