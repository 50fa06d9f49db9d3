"""jax-ml/jax 40101: a damped path, one value of a long array written in each step."""

import numpy as np


def inputs(steps=5_000):
    return {"push": (steps,)}


def jax(push):
    from jax import lax

    def step(value, new):
        after = 0.5 * value + new
        return after, after

    return lax.scan(step, push[0] * 0.0, push)[1]


def numpy(push):
    value, path = push.dtype.type(0), np.empty_like(push)
    for place, new in enumerate(push):
        path[place] = value = value / 2 + new
    return path
