"""Modules filled with weights that the forms in torch share."""

from collections.abc import Mapping

import torch
from torch import nn

from stackwars.measure.workloads import values
from stackwars.measure.workloads.base import Put, Shapes, check_weights


def build(workload, sizes, seed, put):
    """Return the module with its weights on the device."""
    with torch.device("meta"):
        module = workload.in_torch(sizes, torch)
    module.GRAPH_BREAKS, module.DEVICE_LOOP = workload.GRAPH_BREAKS, workload.DEVICE_LOOP
    fill(workload.holder_in_torch(module), workload.parameters(sizes), seed, put)
    workload.finish_in_torch(module, sizes, seed, put)
    return module.eval()


def fill(
    module: nn.Module,
    shapes: Shapes,
    seed: int,
    put: Put,
    buffers: Mapping[str, torch.Tensor] | None = None,
) -> nn.Module:
    """Give a module on the meta device its weights, one at a time; return it in eval mode.

    shapes: of every weight once, running statistics of batch normalisation included; tied weights stay one
    tensor. buffers: values of the constants that a module keeps, by the end of their names; every layer gets a
    copy. Raises ValueError as `check_weights`.
    """
    constants = buffers or {}
    old = dict(module.named_parameters()) | dict(module.named_buffers())
    weights = {name: leaf for name, leaf in old.items() if not name.endswith(tuple(constants))}
    result = [(name, tuple(leaf.shape)) for name, leaf in weights.items()]
    check_weights(result, shapes, "or name the module's constants in buffers")
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
        for leaves in (owner._parameters, owner._buffers):
            for name, leaf in leaves.items():
                if leaf is not None:
                    leaves[name] = new[id(leaf)]
    return module.eval()
