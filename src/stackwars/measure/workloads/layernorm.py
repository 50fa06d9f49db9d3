"""Layer normalisation over the last axis, with scale and shift (Ba et al., 2016).

Each dialect has its own form: the mean and variance are what they are in its own library.
"""

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import Workload, make_module

EPSILON = 1e-5  # added to the variance


class LayerNorm(Workload):
    TITLE, TABLE, ORDER = "LayerNorm", "I", 50
    SIZES = {
        "batch": "sequences in a call",
        "sequence": "positions in a sequence",
        "features": "width of input and output, which is normalised over",
    }

    def parameters(self, sizes):
        return counts.norm("norm", sizes["features"])

    def in_jax(self, sizes, jax, parameters, x):
        jnp = jax.numpy
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.var(x, axis=-1, keepdims=True)
        normal = (x - mean) * jax.lax.rsqrt(variance + EPSILON)
        return normal * parameters["norm"]["weight"] + parameters["norm"]["bias"]

    def in_tensorflow(self, sizes, tf, parameters, x):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        normal = (x - mean) * tf.math.rsqrt(variance + EPSILON)
        return normal * parameters["norm"]["weight"] + parameters["norm"]["bias"]

    def in_numpy(self, sizes, parameters, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        normal = centred / np.sqrt(variance + EPSILON)
        return normal * parameters["norm"]["weight"] + parameters["norm"]["bias"]

    def in_torch(self, sizes, torch):
        norm = torch.nn.LayerNorm(sizes["features"], eps=EPSILON)
        return make_module(torch, lambda self, x: self.norm(x), norm=norm)


WORKLOAD = LayerNorm()
