"""torch_xla with the weight of every linear layer stored as (in, out), so that no call transposes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stackwars.measure.frameworks import torch_xla

if TYPE_CHECKING:
    import torch

TITLE = "torch_xla (in, out)"
DIALECT = torch_xla.DIALECT
COLOUR = "#00838f"
NOTE = "weights of linear layers stored as (in, out)"


def store_in_out(module: torch.nn.Module) -> int:
    """Store the weights of a module's linear layers as (in, out), once and in place; return how many layers.

    `torch.nn.Linear` has a weight of shape (out, in) and computes `x @ weight.T`, which torch_xla lowers to a transpose
    and a product in every call. A weight that other modules use too, an embedding's for instance, stays as it is.
    """
    from torch import nn

    layers = [layer for layer in module.modules() if type(layer) is nn.Linear]
    users = [id(weight) for one in module.modules() for weight in one.parameters(recurse=False)]
    changed = 0
    for layer in layers:
        weight = layer.weight
        if users.count(id(weight)) > 1:
            continue
        layer.weight = nn.Parameter(weight.detach().t().clone(), requires_grad=weight.requires_grad)
        layer.forward = _in_out(layer)
        changed += 1
    return changed


def _in_out(layer: torch.nn.Linear) -> Callable[[torch.Tensor], torch.Tensor]:
    def forward(x: torch.Tensor) -> torch.Tensor:
        product = x @ layer.weight
        return product if layer.bias is None else product + layer.bias

    return forward


class Session(torch_xla.Session):
    """The torch_xla session with every Linear rewritten to hold its weight as (in, out)."""

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        super().build(build, sizes, seed, inputs)
        store_in_out(self._module)
