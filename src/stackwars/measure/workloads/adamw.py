"""Workloads that train: a step of AdamW (Loshchilov and Hutter, 2019), as optax and torch.optim compute it.

The optimiser's state is kept by weight: "<name>.first" and "<name>.second" are the moving averages of its
gradient and of the gradient's square, both 0 at first.
"""

from collections.abc import Mapping
from importlib import import_module

import numpy as np

from stackwars.measure.workloads.base import Workload, float64

LEARNING_RATE = 1e-4
BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-8  # added to the root of the second moment, after its bias is corrected
WEIGHT_DECAY = 0.01
FIRST, SECOND = ".first", ".second"
"""Suffixes of the names of a weight's moments."""


class Training(Workload):
    """A workload whose call is one step: it returns the loss before it, and updates weights and moments.

    The two sets of inputs are two batches, which the steps take in turn. Labels are drawn, so the loss falls
    because the network learns the batches by heart. The forms give the loss; the NumPy form (loss, gradients).
    """

    TABLE = "beyond"
    TRAINS = True
    STATE = "weights, and both moments of their gradients"
    FLAT = ("tensorflow", "numpy")
    APART: float
    """The distance that float32 allows between the losses of a training and of an exact one.

    It is the largest draw of `losses.apart`.
    """

    def preload(self, dialect):
        if dialect == "jax":
            import_module("optax")

    def longest(self, sizes) -> int:
        """Return the terms of the longest sum in a step."""
        raise NotImplementedError

    def losses_rel(self, sizes) -> float:
        """Return how far the losses of two frameworks may part, relative, within `losses.STEPS` steps.

        Twice APART, because each of the two float32 trainings may be that far from exact, to either side; and twice
        again for draws that were not made.
        """
        return 4 * self.APART

    def reference(self, sizes, weights, sets, state, rounding=None):
        """Return (losses before each step, weights and moments after the last) of a step per batch, in float64.

        rounding: a `losses.Rounding` that disturbs each step, or None.
        """
        betas = tuple(map(rounding.constant, (BETA_1, BETA_2))) if rounding else (BETA_1, BETA_2)
        optimiser, result = Optimiser(float64(weights), betas), []
        for batch in sets:
            loss, gradients = self.in_numpy(
                sizes, optimiser.weights, *float64(batch).values(), rounding=rounding
            )
            if rounding:
                for gradient in gradients.values():
                    rounding.sums(gradient)
            optimiser.step(gradients)
            if rounding:
                for array in optimiser.leaves().values():
                    rounding.stored(array)
            result.append(float(loss))
        return result, optimiser.leaves()


def leaves(
    weights: Mapping[str, np.ndarray],
    first: Mapping[str, np.ndarray],
    second: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Return weights and their moments by name, as `Session.state` gives them."""
    moments = {f"{name}{FIRST}": value for name, value in first.items()}
    moments |= {f"{name}{SECOND}": value for name, value in second.items()}
    return {**weights, **moments}


class Optimiser:
    """AdamW in NumPy, in the precision of the weights; changes them in place.

    betas: the averages' decay as the corrections of their bias have it, if the framework rounds it.
    """

    def __init__(
        self, weights: Mapping[str, np.ndarray], betas: tuple[float, float] = (BETA_1, BETA_2)
    ) -> None:
        self.weights, self._betas = weights, betas
        self.first = {name: np.zeros_like(value) for name, value in weights.items()}
        self.second = {name: np.zeros_like(value) for name, value in weights.items()}
        self.steps = 0

    def step(self, gradients: Mapping[str, np.ndarray]) -> None:
        """Make one step along these gradients of all weights."""
        self.steps += 1
        corrected_1, corrected_2 = (1 - beta**self.steps for beta in self._betas)
        for name, weight in self.weights.items():
            gradient, first, second = gradients[name], self.first[name], self.second[name]
            first += (1 - BETA_1) * (gradient - first)
            second += (1 - BETA_2) * (gradient * gradient - second)
            direction = (first / corrected_1) / (np.sqrt(second / corrected_2) + EPSILON)
            weight -= LEARNING_RATE * (direction + WEIGHT_DECAY * weight)

    def leaves(self) -> dict[str, np.ndarray]:
        """Return weights and moments by name."""
        return leaves(self.weights, self.first, self.second)
