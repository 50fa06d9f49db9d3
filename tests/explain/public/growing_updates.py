"""jax-ml/jax 1223: samples of an autoregressive model in a Python loop; each step reads all samples before it."""

TITLE = "a sampling loop that is unrolled, each step with a shape of its own"


def inputs(steps=48, channels=4):
    return {"noise": (steps,), "w": (steps, channels)}


def jax(noise, w):
    from jax import numpy

    samples = numpy.zeros_like(noise)
    for step in range(1, noise.shape[0]):
        hidden = numpy.tanh(samples[:step, None] * w[:step]).sum(0)
        samples = samples.at[step].set(numpy.tanh(hidden.sum()) + noise[step])
    return samples
