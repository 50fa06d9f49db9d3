"""Gradient of a scan whose carry has many scalars (jax-ml/jax issue 40150): slower in the runtime of newer releases."""

TITLE = "jax-ml/jax 40150: gradient of a scan with a carry of many scalars"
LEAVES, STEPS = 32, 200


def inputs(leaves=LEAVES):
    return {"x": (leaves,)}


def jax(x):
    from jax import grad, lax, numpy

    def step(carry, _):
        turned = carry[1:] + carry[:1]
        return tuple(0.5 * (a + numpy.sin(b)) for a, b in zip(carry, turned, strict=True)), None

    def loss(x):
        return sum(lax.scan(step, tuple(x[leaf] for leaf in range(LEAVES)), None, length=STEPS)[0])

    return grad(loss)(x)
