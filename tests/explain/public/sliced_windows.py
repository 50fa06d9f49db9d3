"""jax-ml/jax 14808: a function mapped over windows; JAX gathers all windows before the product."""


def inputs(batch=16, length=4096, width=9, filters=4):
    return {"x": (batch, length), "w": (filters, width)}


def jax(x, w):
    from jax import lax, numpy, vmap

    def at(start):
        return lax.dynamic_slice_in_dim(x, start, w.shape[1], axis=1) @ w.T

    return numpy.moveaxis(vmap(at)(numpy.arange(x.shape[1] - w.shape[1] + 1)), 0, 2)


def torch(x, w):
    import torch

    return torch.nn.functional.conv1d(x[:, None], w[:, None])
