"""Weights for functions of dictionaries, in JAX and NumPy."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stackwars.workloads import values


def tree(shapes: Mapping[str, tuple[int, ...]], seed: int, put: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """Nested dictionaries of device arrays, one for each torch name; "up.bias" -> ["up"]["bias"].

    A matrix (outputs, inputs) becomes "kernel" (inputs, outputs), as code for functions has it. Everything
    else keeps its name and layout, embeddings too. ``put`` gets a transposed view: it copies anyhow, and
    faster.
    """
    parameters: dict[str, Any] = {}
    for name, shape in shapes.items():
        *path, last = name.split(".")
        value = values.leaf(name, shape, seed)
        if len(shape) == 2 and not name.endswith(values.EMBEDDINGS):
            last, value = "kernel", value.T
        owner = parameters
        for part in path:
            owner = owner.setdefault(part, {})
        owner[last] = put(value)
    return parameters


def flat(shapes: Mapping[str, tuple[int, ...]], seed: int, put: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """{torch name: device array}, each in the layout that its shape gives: nothing is transposed."""
    return {name: put(values.leaf(name, shape, seed)) for name, shape in shapes.items()}


def names(parameters: Mapping[str, Any], path: str = "") -> dict[str, np.ndarray]:
    """The inverse of `tree`: {torch name: host array in torch's layout} of nested dictionaries."""
    found: dict[str, np.ndarray] = {}
    for last, value in parameters.items():
        if isinstance(value, Mapping):
            found |= names(value, f"{path}{last}.")
        elif last == "kernel":
            found[f"{path}weight"] = value.T
        else:
            found[f"{path}{last}"] = value
    return found
