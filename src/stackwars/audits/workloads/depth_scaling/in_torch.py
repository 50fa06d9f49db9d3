"""Depth scaling in torch."""

import torch
from torch import nn

from stackwars.audits.workloads.depth_scaling import parameters as shapes
from stackwars.workloads.fill_torch import fill


class DepthScaling(nn.Module):
    """(rows, width) to the same."""

    def __init__(self, width, layers):
        super().__init__()
        self.layer = nn.Linear(width, width, bias=False)
        self.layers = layers

    def forward(self, x):
        for _ in range(self.layers):
            x = torch.tanh(self.layer(x))
        return x


def build(sizes, seed, put):
    """The module with its weight on the device."""
    with torch.device("meta"):
        module = DepthScaling(sizes["width"], sizes["layers"])
    return fill(module, shapes(sizes), seed, put)
