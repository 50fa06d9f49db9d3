"""Weights for modules in torch that were built on the meta device."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import nn

from stackwars.workloads import values

Put = Callable[[np.ndarray], torch.Tensor]


def fill(
    module: nn.Module,
    shapes: Mapping[str, tuple[int, ...]],
    seed: int,
    put: Put,
    buffers: Mapping[str, torch.Tensor] | None = None,
) -> nn.Module:
    """Give a module on the meta device its weights, one at a time; returns it in eval mode.

    ``shapes`` names every weight once, running statistics of batch normalisation included; tied
    weights stay one tensor. ``buffers`` gives real values to the constants that a module keeps, by
    the end of their names; every layer gets a copy. Raises ValueError with the names of the
    weights and buffers that the module has and neither argument names, or the reverse, or whose
    shapes differ.
    """
    constants = buffers or {}
    old = dict(module.named_parameters()) | dict(module.named_buffers())
    weights = {name: leaf for name, leaf in old.items() if not name.endswith(tuple(constants))}
    _check({name: tuple(leaf.shape) for name, leaf in weights.items()}, dict(shapes))
    new = {}
    for name, leaf in old.items():
        if name in weights:
            value = put(values.leaf(name, shapes[name], seed))
            parameter = isinstance(leaf, nn.Parameter)
            new[id(leaf)] = nn.Parameter(value, requires_grad=False) if parameter else value
        else:
            value = next(constants[end] for end in constants if name.endswith(end))
            new[id(leaf)] = put(value.numpy())
    for owner in module.modules():
        for name, leaf in owner._parameters.items():
            if leaf is not None:
                owner._parameters[name] = new[id(leaf)]
        for name, leaf in owner._buffers.items():
            if leaf is not None:
                owner._buffers[name] = new[id(leaf)]
    return module.eval()


def _check(found: dict[str, tuple[int, ...]], expected: dict[str, tuple[int, ...]]) -> None:
    common = found.keys() & expected.keys()
    differ = sorted(name for name in common if found[name] != expected[name])
    missing, left = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
    if missing or left or differ:
        raise ValueError(
            "weights of the torch module: expected those that parameters(sizes) names; "
            f"missing {missing}, left over {left}, of another shape {differ}. "
            "Mend parameters(), or name the module's constants in buffers."
        )
