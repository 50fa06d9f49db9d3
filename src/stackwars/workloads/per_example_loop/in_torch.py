"""Gradients of every example's loss in torch, one after the other."""

import torch
from torch.func import grad

from stackwars.workloads.per_example_grad.in_torch import Gradients, classifier


class GradientsInLoop(Gradients):
    """x (batch, features) and labels (batch,) to the gradients (batch, weights)."""

    def forward(self, x, labels):
        weights = dict(self.classifier.named_parameters())
        rows = []
        for example, label in zip(x, labels.long(), strict=True):
            gradient = grad(self.loss)(weights, example, label)
            rows.append(torch.cat([gradient[name].flatten() for name in weights]))
        return torch.stack(rows)


def build(sizes, seed, put):
    """The module with its weights on the device."""
    return GradientsInLoop(classifier(sizes, seed, put)).eval()
