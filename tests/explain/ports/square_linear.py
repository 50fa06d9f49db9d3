"""A port of two layers whose first weight is square and was not transposed, which no shape tells."""

KIND = "transposed argument"


def inputs(rows=32, width=64, last=24):
    return {"x": (rows, width), "w": (width, width), "v": (last, width)}


def jax(x, w, v):
    from flax import linen

    y = linen.Dense(len(w), use_bias=False).apply({"params": {"kernel": w}}, x)
    return linen.tanh(y) @ v.T


def torch(x, w, v):
    from torch.nn.functional import linear

    return linear(linear(x, w).tanh(), v)
