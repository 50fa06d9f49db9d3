"""jax-ml/jax 39103: squared lengths of rotated rows."""


def inputs(rows=32769, columns=3):
    return {"x": (rows, columns), "m": (columns, columns)}


def jax(x, m):
    from jax import numpy, vmap

    return vmap(lambda row: numpy.sum((m @ row) ** 2))(x)


def torch(x, m):
    import torch

    return torch.vmap(lambda row: ((m @ row) ** 2).sum())(x)
