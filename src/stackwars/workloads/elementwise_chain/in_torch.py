"""The elementwise chain and its sum in torch."""

import torch
from torch import nn

from stackwars.workloads.elementwise_chain import SCALE, SHIFT


class Chain(nn.Module):
    """(elements,) to ()."""

    def forward(self, x):
        return torch.sum(torch.tanh(SCALE * x + SHIFT) * torch.sigmoid(x) + torch.exp(-x * x))


def build(sizes, seed, put):
    """The module; it has no weights."""
    return Chain().eval()
