"""jax-ml/jax 21377: a product with each of several kernel matrices, all of them at once or one after another."""


def inputs(kernels=16, points=256, features=8):
    return {"x": (points, features), "scales": (kernels, features), "y": (kernels, points)}


def jax(x, scales, y):
    from jax import numpy, vmap

    def quadratic(scale, right):
        difference = (x[:, None] - x[None]) * scale
        return right @ (numpy.exp(-(difference**2).sum(-1)) @ right)

    return vmap(quadratic)(scales, y)


def torch(x, scales, y):
    import torch

    results = []
    for scale, right in zip(scales, y, strict=True):
        difference = (x[:, None] - x[None]) * scale
        results.append(right @ (torch.exp(-(difference**2).sum(-1)) @ right))
    return torch.stack(results)
