"""A training step in NumPy: gradients that the workload writes out, and AdamW in place."""

import numpy as np

from stackwars.workloads import adamw


def stepping(parameters, gradients):
    """The parameters, and the function of them and a batch, which updates them: the loss before.

    parameters: {torch name: array}. gradients: of them and the inputs, (loss, {name: gradient}).
    """
    optimiser = adamw.Optimiser(parameters)

    def function(parameters, *inputs):
        loss, found = gradients(parameters, *inputs)
        optimiser.step(found)
        return np.asarray(loss, parameters[next(iter(parameters))].dtype)

    function.leaves = lambda parameters: optimiser.leaves()
    return parameters, function
