"""What more than one report asks of operations: names, sizes, and what dots look like."""

from __future__ import annotations

import math
import re

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from stackwars.ir.dataflow import producer
from stackwars.ir.module import element, shape

DOT, CONSTANT = "stablehlo.dot_general", "stablehlo.constant"
RESHAPE, TRANSPOSE, BROADCAST = (
    "stablehlo.reshape",
    "stablehlo.transpose",
    "stablehlo.broadcast_in_dim",
)


def size(value: ir.Value) -> int:
    """Bytes of a dense array of the value's type; types of less than a byte take one."""
    name = element(value)
    bits = re.search(r"\d+", name)
    parts = 2 if name.startswith("complex") else 1
    return math.prod(shape(value)) * parts * max(8, int(bits[0]) if bits else 8) // 8


def reads(op: ir.Operation, kind: str) -> bool:
    """Whether an operand is, directly, the result of an operation of this kind."""
    made_by = [producer(operand) for operand in op.operands]
    return any(maker is not None and maker.name == kind for maker in made_by)


def dimensions(dot: ir.Operation) -> stablehlo.DotDimensionNumbers:
    """Which dimensions of a dot_general are contracted, and which are batching ones."""
    return stablehlo.DotDimensionNumbers(dot.attributes["dot_dimension_numbers"])


def is_product(op: ir.Operation) -> bool:
    """Whether it is a dot_general that contracts something: else it only multiplies elements."""
    return op.name == DOT and bool(dimensions(op).lhs_contracting_dimensions)


def is_batched(dot: ir.Operation) -> bool:
    """Whether a dot_general has batching dimensions."""
    return bool(dimensions(dot).lhs_batching_dimensions)


def merges(dot: ir.Operation, batching: bool) -> bool:
    """Whether a dot's operand is a reshape that merged leading dimensions into one not contracted.

    Of dots with batching dimensions only, or of those without only.
    """
    numbers = dimensions(dot)
    if bool(numbers.lhs_batching_dimensions) != batching:
        return False
    contracting = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    return any(
        0 not in contracted and _merges_leading(producer(operand))
        for operand, contracted in zip(dot.operands, contracting, strict=True)
    )


def _merges_leading(op: ir.Operation | None) -> bool:
    if op is None or op.name != RESHAPE:
        return False
    before, after = shape(op.operands[0]), shape(op.results[0])
    # Dropping an extent of 1 moves no dimension into another: that merges nothing.
    wide = [extent for extent in before if extent != 1]
    return (
        bool(after)
        and len(after) < len(wide)
        and any(math.prod(wide[:count]) == after[0] for count in range(2, len(wide) + 1))
    )
