"""A product with a Python float that changes (pytorch/pytorch issue 149405)."""


def inputs(rows=10, columns=10):
    return {"x": (rows, columns)}


def calls():
    return [{}, {"y": 2.5}, {"y": 3.5}]


def torch(x, y=1.5):
    return x * y


def numpy(x, y=1.5):
    return x * y
