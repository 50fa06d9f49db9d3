"""The forms in NumPy, and the training step: gradients that the workload writes out, and AdamW in place."""

import numpy as np

from stackwars.measure.workloads import adamw
from stackwars.measure.workloads.base import NUMPY


def build(workload, sizes, seed, put):
    """Return (weights, function); a function that updates what it keeps has the attribute `leaves`."""
    function = workload.form("numpy", sizes, NUMPY)
    if workload.TRAINS:
        return stepping(workload.place("numpy", sizes, seed, put), function)
    return workload.build_in_place("numpy", function, sizes, seed, put)


def stepping(weights, gradients):
    """Return (weights, training step). gradients: a function of weights and inputs, (loss, gradients)."""
    optimiser = adamw.Optimiser(weights)

    def function(weights, *inputs):
        loss, result = gradients(weights, *inputs)
        optimiser.step(result)
        return np.asarray(loss, weights[next(iter(weights))].dtype)

    function.leaves = lambda weights: optimiser.leaves()
    return weights, function
