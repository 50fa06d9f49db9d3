"""The 3x3 convolution in torch."""

import torch
from torch import nn

from stackwars.workloads.conv import parameters as shapes
from stackwars.workloads.fill_torch import fill


class Conv(nn.Module):
    """(batch, channels_in, height, width) to (batch, channels_out, height, width)."""

    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False)

    def forward(self, x):
        return self.conv(x)


def build(sizes, seed, put):
    """The module with its weights on the device."""
    with torch.device("meta"):
        module = Conv(sizes["channels_in"], sizes["channels_out"])
    return fill(module, shapes(sizes), seed, put)
