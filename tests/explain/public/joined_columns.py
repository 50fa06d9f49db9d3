"""jax-ml/jax 40672: many columns are joined along the minor axis."""

TITLE = "a concatenation of many columns"


def inputs(columns=192, rows=64):
    return {"x": (columns, rows)}


def jax(x):
    from jax import numpy

    columns = [numpy.sin(column)[:, None] for column in x]
    return numpy.concatenate(columns, axis=1)
