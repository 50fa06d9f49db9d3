"""The classifier's training step in torch."""

import torch
import torch.nn.functional as F
from torch import nn

from stackwars.workloads.fill_torch import fill
from stackwars.workloads.train_mlp import parameters as shapes
from stackwars.workloads.train_torch import Step


class Classifier(nn.Module):
    """x (batch, features) and labels (batch,) to the mean cross-entropy."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, classes)

    def forward(self, x, labels):
        logits = self.down(F.gelu(self.up(x), approximate="tanh"))
        return F.cross_entropy(logits, labels.long())


def build(sizes, seed, put):
    """The step of a module with its weights on the device."""
    with torch.device("meta"):
        module = Classifier(sizes["features"], sizes["hidden"], sizes["classes"])
    return Step(fill(module, shapes(sizes), seed, put))
