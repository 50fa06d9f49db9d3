"""jax-ml/jax 4453: `lax.switch` among many functions; each branch is compiled as a function of its own."""

TITLE = "a switch with many branches"


def inputs(branches=160, width=8):
    return {"choice": ("int32", (), 100), "w": (branches,), "x": (width,)}


def jax(choice, w, x):
    from jax import lax, numpy

    def branch(place):
        return lambda x: numpy.sin(x * w[place]) + place

    return lax.switch(choice, [branch(place) for place in range(w.shape[0])], x)
