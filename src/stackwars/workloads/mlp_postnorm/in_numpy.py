"""The feed-forward block with normalisation after it in NumPy."""

import math

import numpy as np

from stackwars.workloads import fill_tree
from stackwars.workloads.mlp_postnorm import EPSILON
from stackwars.workloads.mlp_postnorm import parameters as shapes

SCALE = np.float32(math.sqrt(2 / math.pi))


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.flat(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, sequence, features) to the same."""
    hidden = gelu(x @ parameters["up.weight"] + parameters["up.bias"])
    y = x + (hidden @ parameters["down.weight"] + parameters["down.bias"])
    centred = y - y.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    normal = centred / np.sqrt(variance + np.float32(EPSILON))
    return normal * parameters["norm.weight"] + parameters["norm.bias"]


def gelu(x):
    """GELU by tanh (Hendrycks and Gimpel, 2016)."""
    inner = SCALE * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (1 + np.tanh(inner))
