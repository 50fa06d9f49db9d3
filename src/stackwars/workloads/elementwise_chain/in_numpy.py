"""The elementwise chain and its sum in NumPy; sigmoid is SciPy's, for NumPy has none."""

import numpy as np
from scipy.special import expit

from stackwars.workloads.elementwise_chain import SCALE, SHIFT


def build(sizes, seed, put):
    """Parameters (none) and the function of them and x."""
    return {}, function


def function(parameters, x):
    """(elements,) to ()."""
    inner = np.float32(SCALE) * x + np.float32(SHIFT)
    return np.sum(np.tanh(inner) * expit(x) + np.exp(-x * x))
