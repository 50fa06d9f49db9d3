"""TorchTPU's StableHLO of a workload, from tensors without values and without a TPU.

The form is that of its `torch.compile`: AOTAutograd's graph, with TorchTPU's own decompositions, put
through TorchTPU's tracer. AOTAutograd writes a linear layer as a flattened input times a transposed
weight; `lower_torch_tpu_undecomposed` leaves it whole.

What of it is private to torch_tpu 0.2.0, and so pinned: its device without a client, the tracer and the
builder of the module. Its own `traverse_and_compile` also compiles, which needs a TPU. Two passes of
its `torch.compile` are left out, `fold_gqa` and `detect_causal_mask`: they look for PyTorch's fused
attention, and the models here write attention out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np

from stackwars.compilers import arguments
from stackwars.compilers.arguments import Entry, Lowered

_PRECISION = {"default": "medium", "high": "high", "highest": "highest"}
"""What PyTorch calls the precisions of a product of float32 that XLA calls DEFAULT, HIGH and HIGHEST."""

Traced = tuple[Any, list[str | None]]
"""A graph of PyTorch's operations; of each of its arguments the name of a parameter or buffer of the module,
None of an input."""


def load() -> None:
    """Import what `lower` needs; opens no device."""
    # Else libtpu asks for a TPU's metadata, for half a minute where there is no TPU.
    os.environ["TPU_SKIP_MDS_QUERY"] = "1"
    import torch_tpu  # noqa: F401
    import transformers.masking_utils  # noqa: F401
    from torch_tpu import _loader

    _loader._init_device("tpu")


def lower(
    build: Callable, sizes: dict, seed: int, inputs: dict[str, np.ndarray], precision: str
) -> Lowered:
    """The program.

    `build` is the workload's in this dialect, and makes its weights with `arguments.leaf`. A weight
    that several layers share is one argument. What a module keeps that is no weight is an argument too.
    """
    return lower_traced(_compiled, build, sizes, seed, inputs, precision)


def lower_traced(
    trace: Callable[[Any, list[Any]], Traced],
    build: Callable,
    sizes: dict,
    seed: int,
    inputs: dict[str, np.ndarray],
    precision: str,
) -> Lowered:
    """The same, of the graph that `trace` makes of a module and its inputs."""
    load()
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import masking_utils

    torch.set_float32_matmul_precision(_PRECISION[precision])
    placed: list[tuple[Entry, torch.Tensor]] = []

    without_values = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(array: np.ndarray) -> torch.Tensor:
        with without_values:
            dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
            return torch.empty(array.shape, dtype=dtype, device="tpu:0")

    def put(array: np.ndarray) -> Any:
        placed.append((arguments.of_array(array), fake(array)))
        return placed[-1][1]

    module = build(sizes, seed, put)
    with ExitStack() as stack:
        stack.enter_context(without_values)
        # It reads the positions to see whether a row has several texts, which none here has; traced, that
        # would be a search in the program (chlo.scan, which XLA does not take).
        known = mock.patch.object(masking_utils, "find_packed_sequence_indices", lambda _: None)
        stack.enter_context(known)
        # A scalar made from a number of Python's would be copied to the TPU at once.
        stack.enter_context(mock.patch.object(torch, "tensor", _tensor(torch.tensor, torch.full)))
        stack.enter_context(torch.no_grad())
        graph, names = trace(module, [fake(array) for array in inputs.values()])
        entries = _entries(module, placed)
        inputs_left = iter(Entry("input", name) for name in inputs)
        wanted = [next(inputs_left) if name is None else entries[name] for name in names]
    text, used = _stablehlo(graph, wanted)
    return Lowered(text, used, [e for e, _ in placed if e.kind == "weight" and e not in used])


def versions() -> dict[str, str]:
    """Versions of what lowered it."""
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "torch_tpu")}


def _entries(module: Any, placed: list[tuple[Entry, Any]]) -> dict[str, Entry]:
    """{name of a parameter or buffer: what was placed as it}; shared ones have several names."""
    known = {tensor.untyped_storage()._cdata: entry for entry, tensor in placed}
    named = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    return {name: known[tensor.untyped_storage()._cdata] for name, tensor in named}


def _tensor(plain: Callable, full: Callable) -> Callable:
    """`torch.tensor`, of a number on a device as an operation of the graph."""

    def made(value: Any, **kind: Any) -> Any:
        scalar = isinstance(value, int | float) and kind.get("device") is not None
        return full((), value, **kind) if scalar else plain(value, **kind)

    return made


def _compiled(module: Any, inputs: list[Any]) -> Traced:
    """AOTAutograd's graph, as TorchTPU's backend of torch.compile asks for it."""
    from torch._functorch.aot_autograd import aot_export_module
    from torch_tpu._internal.compile._backend import _TPU_DECOMPOSITIONS

    # It wants a tuple of results.
    module.register_forward_hook(lambda _module, _inputs, output: (output,))
    graph, signature = aot_export_module(
        module, inputs, trace_joint=False, decompositions=_TPU_DECOMPOSITIONS
    )
    weights = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    return graph, [weights.get(node.name) for node in graph.graph.find_nodes(op="placeholder")]


def _stablehlo(graph: Any, wanted: list[Entry]) -> tuple[str, list[Entry]]:
    """(program, its arguments): of a graph of which each argument is an entry, those that it uses."""
    import torch
    from torch_tpu._internal import execution_mode
    from torch_tpu._internal.compile import tpu_torch_compile
    from torch_tpu._internal.export.export import EagerLikeFxInterpreter

    nodes = graph.graph.find_nodes(op="placeholder")
    made, used = {}, {}
    for node, entry in zip(nodes, wanted, strict=True):
        if id(entry) not in made:
            value = node.meta["val"]
            made[id(entry)] = tpu_torch_compile.placeholder(list(value.shape), value.dtype, False)
        if node.users:
            used[id(entry)] = entry
    mode = execution_mode.EagerMode._INTERNAL_COMPILE_FX_GRAPH
    with execution_mode.set_eager_mode(mode), torch.no_grad():
        outputs = EagerLikeFxInterpreter(graph).run(*(made[id(entry)] for entry in wanted))
        results = [o for o in torch.utils._pytree.tree_leaves(outputs) if o is not None]
        module = tpu_torch_compile.build_mlir(results, [made[key] for key in used], False)
    text = tpu_torch_compile.serialize_mlir_text(module)
    # It names the module after the line of Python that made the result, which may be one of this file.
    return re.sub(r"^module @\S+", "module @torch_tpu", text), list(used.values())
