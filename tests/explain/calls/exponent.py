"""A power whose exponent changes (pytorch/xla issue 3248)."""


def inputs(size=1000):
    return {"a": (size,)}


def calls():
    return [{}, {"exponent": 3.5}, {"exponent": 4.5}]


def jax(a, exponent=2.5):
    return abs(a) ** exponent


def torch(a, exponent=2.5):
    return abs(a) ** exponent


def numpy(a, exponent=2.5):
    return abs(a) ** exponent
