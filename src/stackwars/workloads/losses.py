"""Loss and activation with their derivatives in NumPy, for gradients that are written out; any precision.

And how far the losses of two frameworks may part over STEPS steps from the same weights and data.
"""

import math
from typing import Any

import numpy as np

STEPS = 50
"""Steps of training whose losses are told and compared."""
UNIT = 2.0**-24
"""Half the distance of 1.0 to the next float32: the largest relative error of one rounding."""
GELU_SCALE, GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


def bound(apart: float) -> float:
    """The largest relative difference of two float32 trainings' losses that rounding explains.

    apart: how far a training in float64 whose steps are disturbed as float32 rounds was found to be from one
    that is not: the largest of all steps and draws of `rounding`. Twice that, because each of the two trainings
    may be so far from exact, to either side; and twice again for draws that were not made.
    """
    return 4 * apart


def cross_entropy(
    logits: np.ndarray, labels: np.ndarray, rounding: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """(mean loss (), its gradient (rows, classes)) of logits (rows, classes) and labels (rows,).

    rounding: a `rounding.Rounding` that disturbs logits and sums; None for none.
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
    """(GELU by tanh (Hendrycks and Gimpel, 2016), its derivative) of every element."""
    tanh = np.tanh(GELU_SCALE * (x + GELU_CUBE * x * x * x))
    inner = GELU_SCALE * (1 + 3 * GELU_CUBE * x * x)
    return 0.5 * x * (1 + tanh), 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner


def norm(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: float
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """(layer normalisation over the last axis, what `norm_gradients` needs of it)."""
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + epsilon)
    normal = centred / deviation
    return normal * weight + bias, (normal, deviation)


def norm_gradients(
    gradient: np.ndarray, weight: np.ndarray, kept: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients by (x, weight, bias) of a layer normalisation, from that by its output."""
    normal, deviation = kept
    rows = tuple(range(gradient.ndim - 1))
    inner = gradient * weight
    mean = inner.mean(axis=-1, keepdims=True)
    along = (inner * normal).mean(axis=-1, keepdims=True)
    by_x = (inner - mean - normal * along) / deviation
    return by_x, (gradient * normal).sum(axis=rows), gradient.sum(axis=rows)
