"""A sum that begins with a Python integer and goes on with the array that it returned (jax-ml/jax issue 3163)."""

import numpy as np


def inputs():
    return {"x": ("int32", ())}


def calls():
    return [{"x": 0}, {"x": np.array(0, np.int32), "i": 1}, {"x": np.array(1, np.int32), "i": 2}]


def jax(x, i=0):
    return x + i


def numpy(x, i=0):
    return np.add(x, i)
