"""Losses of a training: layers with their derivatives in NumPy, and how far float32 lets two trainings' losses part.

`apart` measures the latter: a training in float64 that is disturbed in
every step by as much as float32 rounds, compared with one that is not. It disturbs the logits, the sums of the
softmax, the gradients, stored values, and the constants from which AdamW corrects its moments (1 - 0.999^t loses
three digits, the same in every step). No derivation replaces this: AdamW divides a gradient by the root of its mean
square, so a component near 0 moves its weight by a full step in a direction that rounding decides.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stackwars.measure.workloads.base import GELU_CUBE, GELU_SCALE, Workload

STEPS = 50
"""Steps of training whose losses are recorded and compared."""
UNIT = 2.0**-24
"""Half the distance of 1.0 to the next float32: the largest relative error of one rounding."""


def cross_entropy(
    logits: np.ndarray, labels: np.ndarray, rounding: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean loss (), and its gradient (rows, classes), of logits (rows, classes) and labels (rows,).

    rounding: a Rounding that disturbs logits and sums, or None.
    """
    rows = np.arange(len(labels))
    if rounding:
        rounding.sums(logits)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = exponentials.sum(axis=-1, keepdims=True)
    if rounding:
        rounding.sums(sums)
    loss = (np.log(sums[:, 0]) - shifted[rows, labels]).mean()
    gradient = exponentials / sums
    gradient[rows, labels] -= 1
    return loss, gradient / gradient.dtype.type(len(labels))


def gelu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return GELU by tanh (Hendrycks and Gimpel, 2016), and its derivative, of every element."""
    tanh = np.tanh(GELU_SCALE * (x + GELU_CUBE * x * x * x))
    inner = GELU_SCALE * (1 + 3 * GELU_CUBE * x * x)
    return 0.5 * x * (1 + tanh), 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner


def norm(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: float
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return the layer normalisation over the last axis, and what `norm_gradients` needs."""
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + epsilon)
    normal = centred / deviation
    return normal * weight + bias, (normal, deviation)


def norm_gradients(
    gradient: np.ndarray, weight: np.ndarray, saved: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients by x, weight and bias of a layer normalisation, from the gradient by its output."""
    normal, deviation = saved
    rows = tuple(range(gradient.ndim - 1))
    inner = gradient * weight
    mean = inner.mean(axis=-1, keepdims=True)
    along = (inner * normal).mean(axis=-1, keepdims=True)
    by_x = (inner - mean - normal * along) / deviation
    return by_x, (gradient * normal).sum(axis=rows), gradient.sum(axis=rows)


class Rounding:
    """Disturbances of the size of float32's rounding."""

    def __init__(self, longest: int, seed: int) -> None:
        """longest: terms of the longest sum in a step."""
        self._random = np.random.default_rng(seed)
        # For independent roundings (Higham and Mary, 2019).
        self.of_sum = UNIT * math.sqrt(longest)

    def constant(self, value: float) -> float:
        """Return a constant near 1, rounded to float32."""
        return value * (1 + UNIT * self._random.choice([-1, 1]))

    def sums(self, array: np.ndarray) -> None:
        """Change results of sums in place.

        The error is relative to the array's root mean square and not to each result, because terms larger than
        their sum cancel. A result of 0 is a sum of zeros, which is exact.
        """
        nonzero = array != 0
        size = self.of_sum * math.sqrt(np.square(array).sum() / max(1, nonzero.sum()))
        array += size * self._random.standard_normal(array.shape, np.float32) * nonzero

    def stored(self, array: np.ndarray) -> None:
        """Round an array that a step stores, in place."""
        array *= 1 + UNIT * (2 * self._random.random(array.shape, np.float32) - 1)


def apart(module: Workload, sizes: dict[str, int], draws: int, seed: int) -> list[float]:
    """Return, for each draw, the largest relative difference of a step's loss to the undisturbed training's."""
    sets = module.input_sets(sizes, seed)
    batches = [sets[step % 2] for step in range(STEPS)]
    weights = module.weights(sizes, seed)

    def trained(rounding: Rounding | None) -> np.ndarray:
        return np.array(module.reference(sizes, weights, batches, {}, rounding)[0])

    plain, longest = trained(None), module.longest(sizes)
    disturbed = (trained(Rounding(longest, draw)) for draw in range(draws))
    return [float(np.abs(one / plain - 1).max()) for one in disturbed]
