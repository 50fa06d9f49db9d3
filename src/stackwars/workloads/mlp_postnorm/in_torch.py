"""The feed-forward block with normalisation after it in torch."""

import torch
import torch.nn.functional as F
from torch import nn

from stackwars.workloads.fill_torch import fill
from stackwars.workloads.mlp_postnorm import EPSILON
from stackwars.workloads.mlp_postnorm import parameters as shapes


class Product(nn.Module):
    """(..., inputs) to (..., outputs), with a bias. A linear layer would store its weight transposed."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Norm(nn.Module):
    """Normalisation over the last axis, operation by operation."""

    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features))
        self.bias = nn.Parameter(torch.empty(features))

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = torch.square(centred).mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + EPSILON) * self.weight + self.bias


class Block(nn.Module):
    """(batch, sequence, features) to the same."""

    def __init__(self, features, hidden):
        super().__init__()
        self.up = Product(features, hidden)
        self.down = Product(hidden, features)
        self.norm = Norm(features)

    def forward(self, x):
        return self.norm(x + self.down(F.gelu(self.up(x), approximate="tanh")))


def build(sizes, seed, put):
    """The module with its weights on the device."""
    with torch.device("meta"):
        module = Block(sizes["features"], sizes["hidden"])
    return fill(module, shapes(sizes), seed, put)
