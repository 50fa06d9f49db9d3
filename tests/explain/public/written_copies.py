"""jax-ml/jax 23358: one element written in a mapped function; JAX makes a copy of the array for each index."""


def inputs(length=2048):
    return {"x": (length,)}


def jax(x):
    from jax import numpy, vmap

    return vmap(lambda index: x.at[index].set(7.0).sum())(numpy.arange(x.shape[0]))


def torch(x):
    return x.sum() - x + 7.0
