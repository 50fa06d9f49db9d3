"""torch_xla's StableHLO of a workload from placeholders for its weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.compilers import arguments
from stackwars.compilers.arguments import Entry, Leaf


def load() -> None:
    """Import what `lower` needs; opens no device."""
    os.environ["PJRT_DEVICE"] = "CPU"
    import torch_xla
    import torch_xla.backends
    import torch_xla.core.xla_model  # noqa: F401


def lower(
    build: Callable, sizes: dict, seed: int, inputs: dict[str, np.ndarray], precision: str
) -> tuple[str, list[Entry], list[Entry]]:
    """(program, its arguments in its order, weights that it does not use).

    `build` is the workload's in this dialect, and makes its weights with `arguments.leaf`. Inputs of
    floats are placeholders as well; token ids, and what a module keeps that is no weight, are real
    tensors: transformers reads some of them while tracing. Scalars and other tensors that torch_xla
    uploads by itself become constants, with their values.
    """
    load()
    import torch
    import torch_xla
    import torch_xla.backends
    import torch_xla.core.xla_model as xm
    from torch_xla import _XLAC
    from torch_xla.core.xla_builder import create_placeholder_tensor

    torch_xla.backends.set_mat_mul_precision(precision)
    device = torch_xla.device()
    placed: list[tuple[Entry, torch.Tensor]] = []

    def put(array: np.ndarray) -> Any:
        if not isinstance(array, Leaf):
            return torch.from_numpy(array).to(device)
        tensor = create_placeholder_tensor(array.shape, torch.float32)
        placed.append((arguments.of_array(array), tensor))
        return tensor

    module = build(sizes, seed, put)
    tensors = {
        name: put(array)
        if array.dtype.kind == "i"
        else create_placeholder_tensor(array.shape, torch.from_numpy(array).dtype)
        for name, array in inputs.items()
    }
    with torch.no_grad():
        output = module(*tensors.values())
    text = xm.get_stablehlo([output])
    known = {_XLAC._xla_get_tensor_id(tensor): entry for entry, tensor in placed}
    known |= {_XLAC._xla_get_tensor_id(t): Entry("input", name) for name, t in tensors.items()}
    # The arguments in the program's order: torch_xla's is that of its walk through the graph.
    numbers, nodes = _XLAC._get_tensors_xla_device_data_node([output])
    used = [
        known[number] if number in known else arguments.of_array(node.cpu().numpy())
        for number, node in zip(numbers, nodes, strict=True)
    ]
    return text, used, [entry for entry, _ in placed if entry not in used]


def versions() -> dict[str, str]:
    """Versions of what lowered it."""
    import torch
    import torch_xla

    return {"torch": torch.__version__, "torch_xla": torch_xla.__version__}
