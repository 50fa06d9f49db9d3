"""torch_xla's StableHLO of a workload from placeholders for its weights."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from stackwars.measure.frameworks import each
from stackwars.measure.frameworks.torch_eager import element, gradient_mode, tensor_of
from stackwars.measure.frameworks.torch_xla import host_operations, unnumbered
from stackwars.measure.stablehlo import arguments
from stackwars.measure.stablehlo.arguments import Entry, Leaf, Lowered, ProgramSource, Result, marked

PACKAGES = ("torch", "torch_xla")
PLACEHOLDERS = True
"""True while arguments have no data, so that reading one aborts the process."""


def load() -> None:
    """Import what `lower` needs; opens no device."""
    os.environ["PJRT_DEVICE"] = "CPU"
    import torch_xla
    import torch_xla.backends
    import torch_xla.core.xla_model  # noqa: F401


def lower(source: ProgramSource) -> Lowered:
    """Return the program.

    `build` makes its weights with `arguments.leaf`. Float inputs are placeholders as well; token ids and buffers of
    the module are real tensors: transformers reads some of them while tracing. Scalars and other tensors that
    torch_xla uploads by itself become constants, with their values.

    torch_xla marks a divided tensor by sending it to all devices, and a placeholder has nothing to send. So the text
    gets the marks that torch_xla would put on arguments (a test compares), without the marks on updated results. An
    updated argument is donated, as torch_xla requests from the compiler outside the program.

    :raises NotImplementedError: if torch_xla computes a part on the host: its result would be a constant.
    """
    load()
    import torch
    import torch_xla
    import torch_xla.backends
    import torch_xla.core.xla_model as xm
    import torch_xla.debug.metrics as metrics
    from torch_xla import _XLAC
    from torch_xla.core.xla_builder import create_placeholder_tensor

    torch_xla.backends.set_mat_mul_precision(source.precision)
    device = torch_xla.device()
    placed: list[tuple[Entry, torch.Tensor]] = []

    def place(array: np.ndarray) -> torch.Tensor:
        if source.has_values:
            return tensor_of(torch, array).to(device)
        return create_placeholder_tensor(array.shape, element(torch, array))

    def put(array: np.ndarray) -> Any:
        if not isinstance(array, Leaf):
            return tensor_of(torch, array).to(device)
        tensor = place(array)
        placed.append((arguments.of_array(array), tensor))
        return tensor

    module = source.build(source.sizes, source.seed, put)
    tensors = {
        name: put(array) if array.dtype.kind == "i" else place(array) for name, array in source.inputs.items()
    }
    # An optimiser's zeros are not computed yet, and would be part of the program.
    torch_xla.sync(wait=True)
    # Before the call, which gives updated tensors other numbers.
    known = {_XLAC._xla_get_tensor_id(tensor): entry for entry, tensor in placed}
    known |= {_XLAC._xla_get_tensor_id(t): Entry("input", name) for name, t in tensors.items()}
    names = {_XLAC._xla_get_tensor_id(leaf): name for name, leaf in getattr(module, "leaves", dict)().items()}
    metrics.clear_all()
    torch.autograd.set_multithreading_enabled(False)  # see frameworks.torch_xla
    start = time.perf_counter()
    with gradient_mode(torch, module)():
        output = module(*tensors.values())
    leaves = getattr(module, "leaves", dict)()
    results = [*each(output), *leaves.values()]
    traced = time.perf_counter()
    text = unnumbered(xm.get_stablehlo(results))
    stages = {"tracing": traced - start, "lowering": time.perf_counter() - traced}
    if outside := host_operations(metrics):
        raise NotImplementedError(f"torch_xla computes {', '.join(outside)} on the host")
    if source.has_values and metrics.metric_data("TransferFromDeviceTime"):
        raise NotImplementedError(
            "torch_xla reads values back while it traces, so the program would hold for them alone"
        )
    # torch_xla orders the program's arguments by its walk through the graph.
    numbers, nodes = _XLAC._get_tensors_xla_device_data_node(results)
    used = [
        known[number] if number in known else arguments.of_array(node.cpu().numpy())
        for number, node in zip(numbers, nodes, strict=True)
    ]
    if division := source.division:
        axes = [
            known[number].divided_axis(division)
            if number in known
            else division.weight_axis(names.get(number, ""))
            for number in numbers
        ]
        text = marked(text, axes, [number in names for number in numbers], division.devices)
    return Lowered(text, used, (*arguments.outputs(len(each(output))), *map(Result, leaves)), stages=stages)
