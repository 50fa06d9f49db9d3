"""The training step in NumPy."""

import numpy as np

from stackwars.measure.workloads import adamw, in_numpy


def build(workload, sizes, seed, put):
    """Return (weights, training step), a function with the attribute `leaves`."""
    return stepping(workload.place("numpy", sizes, seed, put), workload.form("numpy", sizes, in_numpy.XP))


def stepping(weights, gradients):
    """Return the weights and the training step: gradients that the workload writes out, and AdamW in place.

    weights: {torch name: array}. gradients: a function of them and the inputs, (loss, {name: gradient}).
    """
    optimiser = adamw.Optimiser(weights)

    def function(weights, *inputs):
        loss, result = gradients(weights, *inputs)
        optimiser.step(result)
        return np.asarray(loss, weights[next(iter(weights))].dtype)

    function.leaves = lambda weights: optimiser.leaves()
    return weights, function
