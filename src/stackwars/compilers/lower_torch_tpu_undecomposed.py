"""TorchTPU's StableHLO of a workload as exported: a linear layer is one operation, and one product.

The form is that of `torch.export`, which TorchTPU's `exported_to_mlir` takes as it is, and of its
operations one by one; `lower_torch_tpu` has that of its `torch.compile`.
"""

from __future__ import annotations

from typing import Any

from stackwars.compilers import lower_torch_tpu
from stackwars.compilers.arguments import Lowered, ProgramSource
from stackwars.compilers.lower_torch_tpu import PACKAGES, Traced, load

__all__ = ["PACKAGES", "load", "lower"]


def lower(source: ProgramSource) -> Lowered:
    """As `lower_torch_tpu.lower`."""
    return lower_torch_tpu.lower_traced(_exported, dict, source)


def _exported(module: Any, inputs: list[Any]) -> Traced:
    import torch

    exported = torch.export.export(module, tuple(inputs), strict=False).run_decompositions({})
    signature, graph = exported.graph_signature, exported.graph_module
    named = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    return graph, [named.get(node.name) for node in graph.graph.find_nodes(op="placeholder")]
