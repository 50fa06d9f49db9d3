"""jax-ml/jax 34228: gradient of slices of a batch, one of which starts beyond the end."""

import numpy as np


def inputs():
    return {"x": (3, 8), "start": np.asarray([0, 3, 11], np.int32), "w": (3, 4)}


def jax(x, start, w):
    import jax

    slices = jax.vmap(lambda row, at: jax.lax.dynamic_slice(row, (at,), (4,)))
    return jax.grad(lambda x: (slices(x, start) * w).sum())(x)


def torch(x, start, w):
    import torch

    at = start.clamp(0, 4).long()[:, None] + torch.arange(4, device=x.device)
    return torch.zeros_like(x).scatter_add(1, at, w)


def numpy(x, start, w):
    result = np.zeros_like(x)
    for row, at in enumerate(np.clip(start, 0, 4)):
        result[row, at : at + 4] = w[row]
    return result
