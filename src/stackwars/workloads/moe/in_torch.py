"""The mixture of experts in torch, every expert for every token."""

import torch
import torch.nn.functional as F
from torch import nn

from stackwars.workloads.fill_torch import fill
from stackwars.workloads.moe import parameters as shapes


class Mixture(nn.Module):
    """(tokens, features) to the same."""

    def __init__(self, features, hidden, experts, chosen):
        super().__init__()
        self.experts, self.chosen = experts, chosen
        self.router = nn.Linear(features, experts, bias=False)
        self.up = nn.Parameter(torch.empty(experts * features, hidden))
        self.down = nn.Parameter(torch.empty(experts * hidden, features))

    def forward(self, x):
        gates, experts = self.route(x)
        up, down = self.stacked()
        weights = gates.new_zeros(len(x), self.experts).scatter(1, experts, gates)
        hidden = F.relu(torch.einsum("tf,efh->eth", x, up))
        outputs = torch.einsum("eth,ehf->etf", hidden, down)
        return torch.einsum("etf,te->tf", outputs, weights)

    def route(self, x):
        """Gates and experts of each token, both (tokens, chosen)."""
        logits, experts = torch.topk(self.router(x), self.chosen, dim=-1)
        return torch.softmax(logits, dim=-1), experts

    def stacked(self):
        """Matrices of the experts: (experts, features, hidden) and (experts, hidden, features)."""
        return self.up.unflatten(0, (self.experts, -1)), self.down.unflatten(0, (self.experts, -1))


def build(sizes, seed, put, kind=Mixture):
    """The module with its weights on the device."""
    with torch.device("meta"):
        names = ("features", "hidden", "experts", "chosen")
        module = kind(*(sizes[name] for name in names))
    return fill(module, shapes(sizes), seed, put)
