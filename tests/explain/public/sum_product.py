"""jax-ml/jax 40412: sum of a product over an axis of seven."""


def inputs(outer=3, side=8):
    shape = (outer, 1, 2, 2, side, side, side)
    return {"u": shape, "v": shape}


def jax(u, v):
    return (u * v).sum(3)


def torch(u, v):
    return (u * v).sum(3)
