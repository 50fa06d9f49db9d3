"""Self-attention within a window in torch, as dense scores and a mask."""

import math

import torch
from torch import nn

from stackwars.workloads.attention_window import parameters as shapes
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
        q, k, v = (
            part.view(batch, sequence, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        positions = torch.arange(sequence, device=x.device)
        distance = positions[:, None] - positions
        hidden = (distance < 0) | (distance >= self.window)
        mixed = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, sequence, width))


def build(sizes, seed, put):
    """The module with its weights on the device."""
    with torch.device("meta"):
        module = Attention(sizes["features"], sizes["heads"], sizes["window"])
    return fill(module, shapes(sizes), seed, put)
