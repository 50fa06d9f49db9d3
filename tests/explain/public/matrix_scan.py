"""Scan of small products in float64 (jax-ml/jax issue 36799): slower since the runtime of 0.4.33."""

TITLE = "jax-ml/jax 36799: a scan of products of 3 by 3"
STEPS = 2000


def inputs(side=3):
    return {"x": ("float64", (side, side)), "scale": ("float64", (side, side))}


def jax(x, scale):
    from jax import lax, numpy

    def step(carry, _):
        carry = carry @ scale
        return carry / numpy.abs(carry).max(), None

    return lax.scan(step, x, None, length=STEPS)[0]
