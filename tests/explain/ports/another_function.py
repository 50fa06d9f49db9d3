"""A control: a difference of no known kind, another function after the first product."""

KIND = ""


def inputs(rows=32, width=64):
    return {"x": (rows, width), "w": (width, width)}


def jax(x, w):
    from jax import numpy

    return numpy.sinh(0.1 * x @ w) @ w


def torch(x, w):
    import torch

    return torch.atan(0.1 * x @ w) @ w
