"""Two Python scalars that change and may be equal (pytorch/xla issue 3604)."""


def inputs(size=1000):
    return {"a": (size,), "b": (size,)}


def calls():
    return [{}, {"p": 2.5, "q": 3.5}, {"q": 2.0}, {"p": 4.0, "q": 4.0}, {"p": 1.0}]


def jax(a, b, p=2.0, q=3.0):
    return a + q * (a + p * b)


def torch(a, b, p=2.0, q=3.0):
    return a + q * (a + p * b)


def numpy(a, b, p=2.0, q=3.0):
    return a + q * (a + p * b)
