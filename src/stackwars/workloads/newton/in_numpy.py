"""The Newton-Schulz iteration in NumPy."""

import numpy as np

from stackwars.workloads.newton import TOLERANCE


def build(sizes, seed, put):
    """Parameters (none) and the function of them, the matrix and the right-hand sides."""
    return {}, function


def function(parameters, a, b):
    """(unknowns, unknowns), (unknowns, systems) to (unknowns, systems)."""
    return inverse(a) @ b


def inverse(a):
    """(unknowns, unknowns) to the same."""
    identity = np.eye(len(a), dtype=a.dtype)
    x = a.T / (np.linalg.norm(a, 1) * np.linalg.norm(a, np.inf))
    product = a @ x
    while np.abs(identity - product).max() >= TOLERANCE:
        x = x @ (2 * identity - product)
        product = a @ x
    return x
