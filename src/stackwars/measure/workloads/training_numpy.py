"""The training step in NumPy: gradients that the workload writes out, and AdamW in place."""

import numpy as np

from stackwars.measure.workloads import adamw
from stackwars.measure.workloads.base import NUMPY


def build(workload, sizes, seed, put):
    """Return (weights, training step), a function with the attribute `leaves`."""
    weights, gradients = workload.place("numpy", sizes, seed, put), workload.form("numpy", sizes, NUMPY)
    optimiser = adamw.Optimiser(weights)

    def function(weights, *inputs):
        loss, result = gradients(weights, *inputs)
        optimiser.step(result)
        return np.asarray(loss, weights[next(iter(weights))].dtype)

    function.leaves = lambda weights: optimiser.leaves()
    return weights, function
