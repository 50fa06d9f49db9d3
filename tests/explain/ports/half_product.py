"""A port of two layers whose first product is in bfloat16 on one side alone."""

KIND = "precision"


def inputs(rows=32, width=64, hidden=96):
    return {"x": (rows, width), "up": (hidden, width), "down": (width, hidden)}


def jax(x, up, down):
    from flax import linen

    return linen.relu(x @ up.T) @ down.T


def torch(x, up, down):
    from torch.nn.functional import linear

    return linear(linear(x.bfloat16(), up.bfloat16()).float().relu(), down)
