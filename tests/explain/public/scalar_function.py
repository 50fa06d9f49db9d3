"""jax-ml/jax 37930: thousands of scalar operations, as a code generator writes them, mapped over a batch."""

import random

TITLE = "a mapped function of many scalar operations"
OPERATIONS, RECENT = 600, 40


def inputs(batch=64, state=12):
    return {"x": (batch, state)}


def jax(x):
    from jax import numpy, vmap

    # No operation makes values larger.
    choices = (lambda a, b: numpy.sin(a + b), lambda a, b: 0.5 * (a - b), lambda a, b: numpy.cos(a) * b)

    def function(state):
        draw = random.Random(7)
        values = list(state)
        for _ in range(OPERATIONS):
            values.append(draw.choice(choices)(*draw.choices(values[-RECENT:], k=2)))
        return numpy.stack(values[-len(state) :])

    return vmap(function)(x)
