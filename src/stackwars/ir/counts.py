"""Counts that more than one report needs: of operations by kind, and what dots look like."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from stackwars.ir.dataflow import producer
from stackwars.ir.module import element, shape

DOT, CONVOLUTION, CONSTANT = (
    "stablehlo.dot_general",
    "stablehlo.convolution",
    "stablehlo.constant",
)
RESHAPE, TRANSPOSE, BROADCAST = (
    "stablehlo.reshape",
    "stablehlo.transpose",
    "stablehlo.broadcast_in_dim",
)


def by_kind(operations: Iterable[ir.Operation]) -> dict[str, int]:
    """Operation -> how many, most frequent first, then by name."""
    kinds = Counter(op.name for op in operations)
    return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def named(kinds: dict[str, int]) -> dict[str, int]:
    """The kinds that have a count of their own in every report."""
    return {
        "reshapes": kinds.get(RESHAPE, 0),
        "transposes": kinds.get(TRANSPOSE, 0),
        "broadcasts": kinds.get(BROADCAST, 0),
        "dots": kinds.get(DOT, 0),
        "convolutions": kinds.get(CONVOLUTION, 0),
        "constants": kinds.get(CONSTANT, 0),
        "batch_norm_training": kinds.get("stablehlo.batch_norm_training", 0),
    }


def dot_ranks(operations: Iterable[ir.Operation]) -> dict[str, int]:
    """Ranks of both operands, like 3x2 -> how many dot_general operations."""
    dots = (op for op in operations if op.name == DOT)
    ranks = ("x".join(str(len(shape(operand))) for operand in dot.operands) for dot in dots)
    return dict(sorted(Counter(ranks).items()))


def custom_calls(operations: Iterable[ir.Operation]) -> dict[str, int]:
    """Target -> how many custom_call operations, by name."""
    targets = (
        ir.StringAttr(op.attributes["call_target_name"]).value
        for op in operations
        if op.name == "stablehlo.custom_call"
    )
    return dict(sorted(Counter(targets).items()))


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
