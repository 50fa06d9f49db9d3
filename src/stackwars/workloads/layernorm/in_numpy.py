"""Layer normalisation in NumPy."""

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.layernorm import EPSILON
from stackwars.workloads.layernorm import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    normal = centred / np.sqrt(variance + np.float32(EPSILON))
    return normal * parameters["norm"]["weight"] + parameters["norm"]["bias"]
