"""A recurrence written as a Python loop: each step is a part of the program, where `lax.scan` would have one body."""

TITLE = "a Python loop that is unrolled"


def inputs(steps=192, width=48):
    return {"x": (steps, width), "w": (width, width)}


def jax(x, w):
    from jax import numpy

    state = numpy.zeros(x.shape[1], x.dtype)
    for step in range(x.shape[0]):
        state = numpy.tanh(numpy.sin(x[step]) + numpy.cos(state @ w))
    return state
