"""Values gathered from a constant (jax-ml/jax issue 33479, openxla/xla issue 34260).

jaxlib 0.7.1 folds the gather of JAX's program, whose result has another layout than its operand, into permuted
values: 0 2 4 0 2 4 in place of 0 1 2 3 4 5. One row or one column is right, and so are the other programs.
"""

import numpy as np

ISSUE = "jax-ml/jax issue 33479"
TITLE = "jax-ml/jax 33479: rows of a constant gathered in order"
FAULTS = {"jaxlib-0.7.1": {"jax": "wrong"}}
CURE = "xla_disable_hlo_passes=constant_folding, or =algsimp"
ORDER = 930


def inputs(rows=2, columns=2):
    return {"x": (rows, columns)}


def table(x):
    """Return the constant, of the shape of x: every row is 0, 1, 2, ..."""
    return np.tile(np.arange(x.shape[1], dtype=np.float32), (x.shape[0], 1))


def jax(x):
    from jax import numpy, vmap

    constant, indices = numpy.asarray(table(x)), numpy.arange(x.shape[1])
    return (vmap(lambda row: row[indices])(constant) + 1) * x


def torch(x):
    import torch

    constant = torch.arange(x.shape[1], dtype=torch.float32, device=x.device).repeat(x.shape[0], 1)
    indices = torch.arange(x.shape[1], device=x.device)
    return (constant[:, indices] + 1) * x


def numpy(x):
    return (np.arange(x.shape[1]) + 1) * x


def tensorflow(x):
    import tensorflow as tf

    gathered = tf.gather(tf.constant(table(x)), tf.range(x.shape[1]), axis=1)
    return (gathered + 1) * x
