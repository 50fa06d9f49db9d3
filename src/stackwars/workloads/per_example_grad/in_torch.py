"""Gradients of every example's loss in torch: `vmap` of `grad`."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from stackwars.workloads.fill_torch import fill
from stackwars.workloads.per_example_grad import parameters as shapes


class Classifier(nn.Module):
    """(features,) to logits (classes,)."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Gradients(nn.Module):
    """x (batch, features) and labels (batch,) to the gradients (batch, weights)."""

    def __init__(self, classifier):
        super().__init__()
        self.classifier = classifier

    def loss(self, weights, x, label):
        """The loss () of one example: x (features,) and label ()."""
        logits = functional_call(self.classifier, weights, (x[None],))
        return F.cross_entropy(logits, label[None])

    def forward(self, x, labels):
        weights = dict(self.classifier.named_parameters())
        # Labels of torch's losses are 64-bit.
        gradients = vmap(grad(self.loss), in_dims=(None, 0, 0))(weights, x, labels.long())
        return torch.cat([gradients[name].flatten(1) for name in weights], dim=1)


def build(sizes, seed, put):
    """The module with its weights on the device."""
    return Gradients(classifier(sizes, seed, put)).eval()


def classifier(sizes, seed, put):
    """The module whose loss is differentiated, with its weights on the device."""
    with torch.device("meta"):
        module = Classifier(sizes["features"], sizes["hidden"], sizes["classes"])
    return fill(module, shapes(sizes), seed, put)
