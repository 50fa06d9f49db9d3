"""Window sums of a captured array, as in jax-ml/jax issues 26162 and 40416: XLA computes them while it compiles."""

import numpy as np

TITLE = "a constant that is folded for seconds"


def inputs(side=96):
    return {"x": (side, side)}


def jax(x):
    from jax import lax

    side = x.shape[0]
    weights = np.linspace(0, 1, side * side, dtype=np.float32).reshape(side, side)
    return x + lax.reduce_window(weights, np.float32(0), lax.add, (15, 15), (1, 1), "SAME")
