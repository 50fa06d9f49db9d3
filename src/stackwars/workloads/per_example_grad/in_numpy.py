"""Gradients of every example's loss in NumPy: the derivatives written by hand, for all examples at once."""

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.per_example_grad import CUBIC, SCALE
from stackwars.workloads.per_example_grad import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them, x and labels."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x, labels):
    """x (batch, features) and labels (batch,) to the gradients (batch, weights)."""
    batch = len(x)
    hidden, slope = gelu(x @ parameters["up.weight"].T + parameters["up.bias"])
    error = softmax(hidden @ parameters["down.weight"].T + parameters["down.bias"])
    error[np.arange(batch), labels] -= 1
    delta = error @ parameters["down.weight"] * slope
    up = (delta[:, :, None] * x[:, None, :]).reshape(batch, -1)
    down = (error[:, :, None] * hidden[:, None, :]).reshape(batch, -1)
    return np.concatenate([up, delta, down, error], axis=1)


def gelu(x):
    """GELU by tanh of x, and its derivative there."""
    scale, cubic, half = np.float32(SCALE), np.float32(CUBIC), np.float32(0.5)
    square = x * x
    tanh = np.tanh(scale * x * (1 + cubic * square))
    share = half * (1 + tanh)
    inner = scale * (1 + 3 * cubic * square)
    return x * share, share + half * x * (1 - tanh * tanh) * inner


def softmax(logits):
    """Over the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
