"""One sort by many keys, as `jax.numpy.lexsort` of many columns: the slices that give it its operands compile long."""

TITLE = "a sort of many operands"


def inputs(keys=160, rows=64):
    return {"x": ("int32", (keys, rows), 4)}


def jax(x):
    from jax import lax, numpy

    columns = tuple(x)
    ordered = lax.sort(columns, num_keys=len(columns))
    return numpy.stack(ordered)
