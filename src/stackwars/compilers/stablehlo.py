"""Facts of a StableHLO module, read by the bindings of a compiler's environment."""

from __future__ import annotations

from typing import Any


def main_function(module: Any) -> Any:
    """Return the module's `main`.

    :raises ValueError: if it has none.
    """
    for op in module.body.operations:
        if op.attributes["sym_name"].value == "main":
            return op
    raise ValueError("expected a module with a function `main`; this has none")


def shape(value: Any) -> tuple[int, ...]:
    """Return the extents of a ranked tensor."""
    from jaxlib.mlir import ir

    return tuple(ir.RankedTensorType(value.type).shape)
