"""A port of a feed-forward network whose dropout is left on."""

KIND = "dropout left on"


def inputs(rows=64, width=48, hidden=96):
    return {"x": (rows, width), "up": (hidden, width), "down": (width, hidden)}


def jax(x, up, down):
    from flax import linen
    from jax import random

    dropout = linen.Dropout(0.1, deterministic=False)
    return dropout.apply({}, linen.relu(x @ up.T), rngs={"dropout": random.key(0)}) @ down.T


def torch(x, up, down):
    from torch.nn.functional import dropout, linear

    return linear(dropout(linear(x, up).relu(), 0.1, training=False), down)
