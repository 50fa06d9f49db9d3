"""Two products with ReLU between them in NumPy."""

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.two_matmuls import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x):
    """(rows, features) to the same."""
    hidden = np.maximum(np.matmul(x, parameters["a"]), 0)
    return np.matmul(hidden, parameters["b"])
