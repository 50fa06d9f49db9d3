"""Multi-head self-attention in torch."""

import math

import torch
from torch import nn

from stackwars.workloads.fill_torch import fill
from stackwars.workloads.mha import parameters as shapes


class Attention(nn.Module):
    """(batch, sequence, features) to the same."""

    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.out = nn.Linear(features, features)

    def forward(self, x):
        batch, sequence, width = x.shape
        q, k, v = (
            part.view(batch, sequence, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        mixed = torch.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, sequence, width))


def build(sizes, seed, put):
    """The module with its weights on the device."""
    with torch.device("meta"):
        module = Attention(sizes["features"], sizes["heads"])
    return fill(module, shapes(sizes), seed, put)
