"""Two products with ReLU between them in torch."""

import torch
import torch.nn.functional as F
from torch import nn

from stackwars.workloads.fill_torch import fill
from stackwars.workloads.two_matmuls import parameters as shapes


class TwoProducts(nn.Module):
    """(rows, features) to the same. The weights are no linear layers': those are stored transposed."""

    def __init__(self, features, hidden):
        super().__init__()
        self.a = nn.Parameter(torch.empty(features, hidden))
        self.b = nn.Parameter(torch.empty(hidden, features))

    def forward(self, x):
        return torch.matmul(F.relu(torch.matmul(x, self.a)), self.b)


def build(sizes, seed, put):
    """The module with its weights on the device."""
    with torch.device("meta"):
        module = TwoProducts(sizes["features"], sizes["hidden"])
    return fill(module, shapes(sizes), seed, put)
