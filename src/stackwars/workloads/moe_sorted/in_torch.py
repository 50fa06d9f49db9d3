"""The mixture of experts in torch, a loop over the experts and the tokens of each."""

import torch
import torch.nn.functional as F

from stackwars.workloads.moe import in_torch


class Mixture(in_torch.Mixture):
    """(tokens, features) to the same."""

    # How many tokens an expert has is the shape of what `where` returns: it is read back from the device.
    GRAPH_BREAKS = True

    def forward(self, x):
        gates, experts = self.route(x)
        output = torch.zeros_like(x)
        for expert, (up, down) in enumerate(zip(*self.stacked(), strict=True)):
            token, place = torch.where(experts == expert)
            hidden = F.relu(x[token] @ up)
            output.index_add_(0, token, gates[token, place, None] * (hidden @ down))
        return output


def build(sizes, seed, put):
    """The module with its weights on the device."""
    return in_torch.build(sizes, seed, put, Mixture)
