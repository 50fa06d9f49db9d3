"""The mixture of experts in NumPy, every expert for every token."""

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.moe import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""

    def function(parameters, x):
        return mixture(parameters, x, sizes["chosen"])

    return fill_tree.flat(shapes(sizes), seed, put), function


def mixture(parameters, x, chosen):
    """(tokens, features) to the same."""
    gates, experts = route(parameters, x, chosen)
    up, down = stacked(parameters)
    weights = np.zeros((len(x), len(up)), np.float32)
    np.put_along_axis(weights, experts, gates, axis=1)
    outputs = np.maximum(x @ up, 0) @ down
    return np.einsum("etf,te->tf", outputs, weights)


def route(parameters, x, chosen):
    """Gates and experts of each token, both (tokens, chosen)."""
    logits = x @ parameters["router.weight"].T
    experts = np.argpartition(logits, -chosen, axis=-1)[:, -chosen:]
    logits = np.take_along_axis(logits, experts, axis=-1)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True), experts


def stacked(parameters):
    """Matrices of the experts: (experts, features, hidden) and (experts, hidden, features)."""
    experts = len(parameters["router.weight"])
    up, down = parameters["up"], parameters["down"]
    return up.reshape(experts, -1, up.shape[1]), down.reshape(experts, -1, down.shape[1])
