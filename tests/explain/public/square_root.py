"""jax-ml/jax 37919: root of a square that overflows."""

import numpy as np


def inputs():
    return {"x": np.asarray([-3.0, 0.0, 1.5, 1e18, 3e19, np.finfo(np.float32).max], np.float32)}


def jax(x):
    from jax import numpy

    return numpy.sqrt(numpy.abs(numpy.square(x)))


def torch(x):
    import torch

    return torch.sqrt(torch.abs(torch.square(x)))
