"""The classifier's training step in NumPy, its gradients written out."""

from stackwars.workloads import fill_tree, train_numpy
from stackwars.workloads.train_mlp import gradients
from stackwars.workloads.train_mlp import parameters as shapes


def build(sizes, seed, put):
    """The weights, and the step."""
    return train_numpy.stepping(fill_tree.flat(shapes(sizes), seed, put), gradients)
