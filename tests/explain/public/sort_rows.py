"""iree-org/iree 13865: stable order of rows with ties."""


def inputs(rows=4, columns=2000):
    return {"x": ("int32", (rows, columns), 50)}


def jax(x):
    from jax import numpy

    return numpy.argsort(x, axis=1, stable=True).astype("int32")


def torch(x):
    import torch

    return torch.sort(x, dim=1, stable=True).indices.to(torch.int32)
