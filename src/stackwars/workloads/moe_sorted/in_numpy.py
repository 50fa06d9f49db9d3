"""The mixture of experts in NumPy, a loop over the experts and the tokens of each."""

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.moe import parameters as shapes
from stackwars.workloads.moe.in_numpy import route, stacked


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""

    def function(parameters, x):
        return mixture(parameters, x, sizes["chosen"])

    return fill_tree.flat(shapes(sizes), seed, put), function


def mixture(parameters, x, chosen):
    """(tokens, features) to the same."""
    gates, experts = route(parameters, x, chosen)
    output = np.zeros_like(x)
    for expert, (up, down) in enumerate(zip(*stacked(parameters), strict=True)):
        mine = experts == expert
        token = mine.any(axis=1)
        # An expert is chosen once by a token, so no row is added to twice.
        output[token] += gates[mine][:, None] * (np.maximum(x[token] @ up, 0) @ down)
    return output
