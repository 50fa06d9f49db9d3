"""TorchTPU's StableHLO of a workload, from tensors without values and without a TPU.

A program has the form of its `torch.compile`: AOTAutograd's graph, with TorchTPU's own decompositions, put
through TorchTPU's tracer. AOTAutograd writes a linear layer as a flattened input times a transposed
weight.

Private to torch_tpu 0.2.0, and so pinned: its device without a client, the tracer and the builder of the
module. Its own `traverse_and_compile` also compiles, which needs a TPU. Two passes of
its `torch.compile` are left out, `fold_gqa` and `detect_causal_mask`: they look for PyTorch's fused
attention, and the models here write attention out.

A training step is traced by `make_fx`: gradients by `torch.func`, then torch.optim's own functional AdamW.
Autograd asks a device for its streams, which aborts without a TPU: gradients are traced on the meta device, and the
operations then moved.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np

from stackwars.measure.frameworks import each
from stackwars.measure.frameworks.torch_eager import element
from stackwars.measure.stablehlo import arguments
from stackwars.measure.stablehlo.arguments import Entry, Lowered, ProgramSource, Result, marked

PACKAGES = ("torch", "torch_tpu")
_PRECISION = {"default": "medium", "high": "high", "highest": "highest"}
"""PyTorch's names of the precisions of a product of float32 that XLA calls DEFAULT, HIGH and HIGHEST."""

IN_PLACE = "of what writes in place only training steps are lowered with TorchTPU here"


def load() -> None:
    """Import what `lower` needs; opens no device."""
    # Else libtpu asks for a TPU's metadata, for half a minute where there is no TPU.
    os.environ["TPU_SKIP_MDS_QUERY"] = "1"
    import torch_tpu  # noqa: F401
    import transformers.masking_utils  # noqa: F401
    from torch_tpu import _loader

    _loader._init_device("tpu")


def lower(source: ProgramSource) -> Lowered:
    """Return the program.

    `build` makes its weights with `arguments.leaf`. A weight that several layers share is one argument.
    A buffer of the module is an argument too.

    A divided program has the same operations, and marks how its arguments are divided as torch_xla's does.
    """
    load()
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import masking_utils

    torch.set_float32_matmul_precision(_PRECISION[source.precision])
    placed: list[tuple[Entry, torch.Tensor]] = []

    without_values = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(array: np.ndarray) -> torch.Tensor:
        with without_values:
            return torch.empty(array.shape, dtype=element(torch, array), device="tpu:0")

    def put(array: np.ndarray) -> Any:
        placed.append((arguments.of_array(array), fake(array)))
        return placed[-1][1]

    updates: list[str] = []
    updated: dict[int, str] = {}
    module = source.build(source.sizes, source.seed, put)
    with ExitStack() as stack:
        stack.enter_context(without_values)
        # transformers reads the positions to see whether a row has several texts, which none here has; traced, that
        # would be a search in the program (chlo.scan, which XLA rejects).
        known = mock.patch.object(masking_utils, "find_packed_sequence_indices", lambda _: None)
        stack.enter_context(known)
        # A scalar made from a number of Python's would be copied to the TPU at once.
        stack.enter_context(mock.patch.object(torch, "tensor", _tensor(torch.tensor, torch.full)))
        inputs = [fake(array) for array in source.inputs.values()]
        entries = _entries(module, placed)
        if hasattr(module, "leaves"):
            if not hasattr(module, "optimiser"):
                raise NotImplementedError(IN_PLACE)
            graph, updates = _step(module, inputs)
            wanted = [_updated_entry(name, entries, module) for name in updates]
            updated = {id(entry): name for entry, name in zip(wanted, updates, strict=True)}
            wanted += [entries[f"model.{name}"] for name, _ in module.model.named_buffers()]
            wanted += [Entry("input", name) for name in source.inputs]
        else:
            stack.enter_context(torch.no_grad())
            graph, names = _compiled(module, inputs)
            others = names.count(None) - len(source.inputs)
            if others:
                raise NotImplementedError(
                    f"{others} arguments of the traced graph are neither weights nor inputs: values that are "
                    "computed outside it"
                )
            inputs_left = iter(Entry("input", name) for name in source.inputs)
            wanted = [next(inputs_left) if name is None else entries[name] for name in names]
    text, used, count = _stablehlo(graph, wanted)
    if division := source.division:
        axes = [
            division.weight_axis(updated[id(entry)])
            if entry.kind == "zeros" and id(entry) in updated
            else entry.divided_axis(division)
            for entry in used
        ]
        text = marked(text, axes, [id(entry) in updated for entry in used], division.devices)
    returned = arguments.outputs(count - len(updates))
    return Lowered(text, used, (*returned, *map(Result, updates)))


def _entries(module: Any, placed: list[tuple[Entry, Any]]) -> dict[str, Entry]:
    """Return {name of a parameter or buffer: its entry}; a shared one has several names."""
    known = {tensor.untyped_storage()._cdata: entry for entry, tensor in placed}
    named = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    return {name: known[tensor.untyped_storage()._cdata] for name, tensor in named}


def _tensor(plain: Callable, full: Callable) -> Callable:
    """Return `torch.tensor` in which a number on a device becomes an operation of the graph."""

    def made(value: Any, **kind: Any) -> Any:
        scalar = isinstance(value, int | float) and kind.get("device") is not None
        return full((), value, **kind) if scalar else plain(value, **kind)

    return made


def _decompositions() -> dict:
    """Return the decompositions that TorchTPU's torch.compile uses."""
    from torch_tpu._internal.compile._backend import _TPU_DECOMPOSITIONS

    return _TPU_DECOMPOSITIONS


def _compiled(module: Any, inputs: list[Any]) -> tuple[Any, list[str | None]]:
    """Return AOTAutograd's graph, as TorchTPU's backend of torch.compile requests it, and its arguments' names.

    An argument has the name of a parameter or buffer of the module; None stands for an input.
    """
    from torch._functorch.aot_autograd import aot_export_module

    # aot_export_module requires a tuple of results.
    module.register_forward_hook(lambda _module, _inputs, output: each(output))
    graph, signature = aot_export_module(module, inputs, trace_joint=False, decompositions=_decompositions())
    weights = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    return graph, [weights.get(node.name) for node in graph.graph.find_nodes(op="placeholder")]


def _step(module: Any, inputs: list[Any]) -> tuple[Any, list[str]]:
    """Return (graph of a `in_torch.Step`, names of the tensors that it updates).

    The graph takes the updated tensors, the model's buffers and the inputs, and returns the loss and the updated
    tensors: those that `Step.leaves` names, and a count of steps for each weight, without a name.
    """
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.optim.adamw import adamw as functional

    model, options = module.model, module.optimiser.defaults
    beta1, beta2 = options["betas"]
    weights, buffers = (dict(result) for result in (model.named_parameters(), model.named_buffers()))
    count = len(weights)

    def loss(parameters: list[Any], constants: list[Any], *batch: Any) -> Any:
        named = dict(zip([*weights, *buffers], [*parameters, *constants], strict=True))
        return torch.func.functional_call(model, named, batch)

    def shapes(tensors: Any) -> list[Any]:
        return [torch.empty(t.shape, dtype=t.dtype, device="meta") for t in tensors]

    backward = make_fx(torch.func.grad_and_value(loss), tracing_mode="fake")(
        shapes(weights.values()), shapes(buffers.values()), *shapes(inputs)
    )
    _move(backward, torch.device("tpu:0"))

    def step(updated: list[Any], constants: list[Any], *batch: Any) -> list[Any]:
        gradients, value = backward(updated[:count], constants, *batch)
        updated = [tensor.clone() for tensor in updated]
        parameters, first, second, steps = (updated[i * count :][:count] for i in range(4))
        functional(
            *(parameters, list(gradients), first, second, [], steps),
            foreach=False, capturable=True, amsgrad=False, maximize=False,
            beta1=beta1, beta2=beta2, **{name: options[name] for name in ("lr", "weight_decay", "eps")},
        )  # fmt: skip
        return [value, *updated]

    leaves = module.leaves()
    steps = [torch.zeros((), device="tpu:0") for _ in weights]
    updated = [*(leaf.detach() for leaf in leaves.values()), *steps]
    traced = make_fx(
        torch.func.functionalize(step), tracing_mode="fake", decomposition_table=_decompositions()
    )(updated, [buffer.detach() for buffer in buffers.values()], *inputs)
    return traced, [*leaves, *("" for _ in steps)]


def _updated_entry(name: str, entries: dict[str, Entry], module: Any) -> Entry:
    """Return the entry of an updated tensor: a weight, or a state of the optimiser, which starts as 0."""
    if f"model.{name}" in entries:
        return entries[f"model.{name}"]
    shape = tuple(module.leaves()[name].shape) if name else ()
    return Entry("zeros", shape=shape, dtype="float32")


def _move(graph: Any, device: Any) -> None:
    """Make a graph create its tensors on this device."""
    import torch

    def moved(value: Any) -> Any:
        return device if isinstance(value, torch.device) else value

    for node in graph.graph.nodes:
        node.args = tuple(map(moved, node.args))
        node.kwargs = {name: moved(value) for name, value in node.kwargs.items()}
    graph.recompile()


def _stablehlo(graph: Any, wanted: list[Entry]) -> tuple[str, list[Entry], int]:
    """Return (program, its arguments, the number of its results).

    wanted: an entry for each argument of the graph; the program has the used ones.
    """
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
    # torch_tpu names the module after the line of Python that made the result, which may be one of this file.
    return re.sub(r"^module @\S+", "module @torch_tpu", text), list(used.values()), len(results)
