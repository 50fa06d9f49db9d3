"""iree-org/iree 24886: a table is read at places that a chain of shifts computes; 3.13 compiles it in a moment."""

TITLE = "a gather whose indices a chain computes"


def inputs(places=8, entries=3):
    return {"seed": ("int32", (places,), 1000000), "table": (entries,)}


def jax(seed, table):
    from jax import numpy

    for _ in range(9):
        seed = seed ^ (seed >> 13)
        seed = seed ^ (seed << 5)
    return table[numpy.abs(seed) % table.shape[0]]
