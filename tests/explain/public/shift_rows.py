"""openxla/xla 49176: rows shifted down by one."""


def inputs(rows=8, columns=16):
    return {"x": (rows, columns)}


def jax(x):
    base = x + 1
    return base.at[1:].set(base[:-1]).reshape(1, *base.shape)


def torch(x):
    base = x + 1
    shifted = base.clone()
    shifted[1:] = base[:-1]
    return shifted.reshape(1, *base.shape)
