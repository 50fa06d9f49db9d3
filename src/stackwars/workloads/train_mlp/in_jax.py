"""The classifier's training step in JAX."""

import jax
import optax

from stackwars.workloads import fill_tree, train_jax
from stackwars.workloads.train_mlp import parameters as shapes


def build(sizes, seed, put):
    """The state on the device, and the step."""
    return train_jax.stepping(fill_tree.tree(shapes(sizes), seed, put), loss)


def loss(parameters, x, labels):
    """x (batch, features) and labels (batch,) to the mean cross-entropy."""
    up, down = parameters["up"], parameters["down"]
    hidden = jax.nn.gelu(x @ up["kernel"] + up["bias"], approximate=True)
    logits = hidden @ down["kernel"] + down["bias"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
