"""jax-ml/jax 11007: a broadcast and a sum, fused or as an array that a product reads."""


def inputs(length=2048, poles=1024):
    return {"omega": (length,), "poles": (poles,), "weights": (poles,)}


def jax(omega, poles, weights):
    return (weights / (1.0 + (omega[:, None] - poles) ** 2)).sum(-1)


def torch(omega, poles, weights):
    return (1.0 / (1.0 + (omega[:, None] - poles) ** 2)) @ weights
