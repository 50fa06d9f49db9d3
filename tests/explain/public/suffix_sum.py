"""iree-org/iree 23381: gradient of a cumulative sum, which adds from the end."""

import numpy as np


def inputs(rows=4, columns=10):
    return {"x": (rows, columns), "w": (rows, columns)}


def jax(x, w):
    import jax

    return jax.grad(lambda x: (jax.numpy.cumsum(x, 1) ** 2 * w).sum())(x)


def torch(x, w):
    import torch

    return torch.flip(torch.cumsum(torch.flip(2 * torch.cumsum(x, 1) * w, (1,)), 1), (1,))


def numpy(x, w):
    return np.flip(np.cumsum(np.flip(2 * np.cumsum(x, 1) * w, 1), 1), 1)
