"""Products at the precision HIGHEST as products at DEFAULT, which a TPU computes from operands in bfloat16."""

from __future__ import annotations

from typing import Any

from stackwars.compilers import stablehlo
from stackwars.compilers.arguments import Entry

PRODUCTS = ("stablehlo.dot_general", "stablehlo.convolution")
OPERANDS = "precision_config"
HIGHEST, DEFAULT = "#stablehlo<precision HIGHEST>", "#stablehlo<precision DEFAULT>"


def apply(module: Any, entries: list[Entry]) -> list[Entry]:
    """Change every HIGHEST of a product's operands; raises ValueError where a module has none.

    On a CPU both give the same values; on a TPU they do not.
    """
    from jaxlib.mlir import ir

    found = [op for name in PRODUCTS for op in stablehlo.named(module, name) if _is_highest(op)]
    if not found:
        raise ValueError("expected a product at HIGHEST precision; this has none: no edit to make")
    for op in found:
        changed = str(op.attributes[OPERANDS]).replace(HIGHEST, DEFAULT)
        op.attributes[OPERANDS] = ir.Attribute.parse(changed)
    return entries


def _is_highest(op: Any) -> bool:
    """Whether an operand of the product is at HIGHEST; one that says nothing is at DEFAULT."""
    return OPERANDS in op.attributes and HIGHEST in str(op.attributes[OPERANDS])
