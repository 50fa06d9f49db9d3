"""The feed-forward block with exact GELU in NumPy; erf is SciPy's, for NumPy has none."""

import math

import numpy as np
from scipy.special import erf

from stackwars.workloads import fill_tree
from stackwars.workloads.ffn import parameters as shapes

SCALE = np.float32(1 / math.sqrt(2))


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    up, down = parameters["up"], parameters["down"]
    hidden = x @ up["kernel"] + up["bias"]
    hidden = np.float32(0.5) * hidden * (1 + erf(hidden * SCALE))
    return hidden @ down["kernel"] + down["bias"]
