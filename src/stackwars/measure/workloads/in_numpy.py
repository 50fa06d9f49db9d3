"""Operations that the forms in NumPy share."""

import math

import numpy as np

from stackwars.measure.workloads.base import Operations, build_in_place

SAME = (
    *("arange", "concatenate", "exp", "matmul", "mean", "reshape", "sqrt", "square", "sum"),
    *("tanh", "where", "zeros"),
)
HALF, ROOT = np.float32(0.5), np.float32(1 / math.sqrt(2))
SCALE, CUBIC = np.float32(math.sqrt(2 / math.pi)), np.float32(0.044715)


def build(workload, sizes, seed, put):
    """Return (weights, function); a function that updates what it keeps has the attribute `leaves`."""
    function = workload.form("numpy", sizes, XP)
    return build_in_place(workload, "numpy", function, sizes, seed, put)


def gelu(x):
    """GELU by erf, which is SciPy's: a workload that uses it imports SciPy in its `preload`."""
    from scipy.special import erf

    return HALF * x * (1 + erf(x * ROOT))


def gelu_tanh(x):
    """GELU by tanh (Hendrycks and Gimpel, 2016)."""
    return HALF * x * (1 + np.tanh(SCALE * (x + CUBIC * x * x * x)))


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    """SciPy's: a workload that uses it imports SciPy in its `preload`."""
    from scipy.special import expit

    return expit(x)


def softmax(x, axis):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


XP = Operations(
    dialect="numpy",
    **{name: getattr(np, name) for name in SAME},
    gelu=gelu,
    gelu_tanh=gelu_tanh,
    relu=relu,
    sigmoid=sigmoid,
    softmax=softmax,
)
