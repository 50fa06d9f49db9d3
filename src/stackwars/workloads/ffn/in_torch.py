"""The feed-forward block with exact GELU in torch."""

import torch
import torch.nn.functional as F
from torch import nn

from stackwars.workloads.ffn import parameters as shapes
from stackwars.workloads.fill_torch import fill


class FeedForward(nn.Module):
    """(batch, sequence, features) to the same."""

    def __init__(self, features, hidden):
        super().__init__()
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, features)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


def build(sizes, seed, put):
    """The module with its weights on the device."""
    with torch.device("meta"):
        module = FeedForward(sizes["features"], sizes["hidden"])
    return fill(module, shapes(sizes), seed, put)
