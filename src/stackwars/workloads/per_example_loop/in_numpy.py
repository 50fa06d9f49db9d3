"""Gradients of every example's loss in NumPy, one after the other: the derivatives written by hand."""

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.per_example_grad import parameters as shapes
from stackwars.workloads.per_example_grad.in_numpy import gelu, softmax


def build(sizes, seed, put):
    """Parameters, and the function of them, x and labels."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x, labels):
    """x (batch, features) and labels (batch,) to the gradients (batch, weights)."""
    pairs = zip(x, labels, strict=True)
    return np.stack([gradient(parameters, example, label) for example, label in pairs])


def gradient(parameters, x, label):
    """The gradient (weights,) of one example's loss: x (features,) and label ()."""
    hidden, slope = gelu(parameters["up.weight"] @ x + parameters["up.bias"])
    error = softmax(parameters["down.weight"] @ hidden + parameters["down.bias"])
    error[label] -= 1
    delta = error @ parameters["down.weight"] * slope
    return np.concatenate([np.outer(delta, x).ravel(), delta, np.outer(error, hidden).ravel(), error])
