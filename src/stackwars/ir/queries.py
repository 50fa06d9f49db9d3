"""Ask operations what they are, which values they are made from, and which are made from them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from stackwars.ir.module import element, shape

DOT, CONSTANT = "stablehlo.dot_general", "stablehlo.constant"
RESHAPE, TRANSPOSE = "stablehlo.reshape", "stablehlo.transpose"
BROADCAST = "stablehlo.broadcast_in_dim"
# These change where a value lies, not what it is; convert changes its type alone.
MOVES = {RESHAPE, TRANSPOSE, BROADCAST, "stablehlo.convert"}


def producer(value: ir.Value) -> ir.Operation | None:
    """Return the operation whose result the value is; None for an argument of a function."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def origin(value: ir.Value) -> ir.Value:
    """Return the value that this one was moved from, upwards through MOVES."""
    while (made_by := producer(value)) is not None and made_by.name in MOVES:
        value = made_by.operands[0]
    return value


def before(values: Iterable[ir.Value], through: Callable[[ir.Operation], bool]) -> set[ir.Operation]:
    """Return the operations that the values are made from, as far up as `through` lets."""
    reached: set[ir.Operation] = set()
    waiting = list(values)
    while waiting:
        made_by = producer(waiting.pop())
        if made_by is not None and made_by not in reached and through(made_by):
            reached.add(made_by)
            waiting.extend(made_by.operands)
    return reached


def after(values: Iterable[ir.Value], through: Callable[[ir.Operation], bool]) -> set[ir.Operation]:
    """Return the operations that are made from the values, as far down as `through` lets."""
    reached: set[ir.Operation] = set()
    waiting = list(values)
    while waiting:
        for use in waiting.pop().uses:
            reader = use.owner.operation
            if reader not in reached and through(reader):
                reached.add(reader)
                waiting.extend(reader.results)
    return reached


def size(value: ir.Value) -> int:
    """Return the bytes of a dense array of the value's type; types of less than a byte take one."""
    name = element(value)
    bits = re.search(r"\d+", name)
    parts = 2 if name.startswith("complex") else 1
    return math.prod(shape(value)) * parts * max(8, int(bits[0]) if bits else 8) // 8


def reads(op: ir.Operation, kind: str) -> bool:
    """Return whether an operand is, directly, the result of an operation of this kind."""
    made_by = [producer(operand) for operand in op.operands]
    return any(maker is not None and maker.name == kind for maker in made_by)


def dimensions(dot: ir.Operation) -> stablehlo.DotDimensionNumbers:
    """Return which dimensions of a dot_general are contracted, and which are batching ones."""
    return stablehlo.DotDimensionNumbers(dot.attributes["dot_dimension_numbers"])


def is_product(op: ir.Operation) -> bool:
    """Return whether it is a dot_general that contracts something: else it only multiplies elements."""
    return op.name == DOT and bool(dimensions(op).lhs_contracting_dimensions)


def is_batched(dot: ir.Operation) -> bool:
    return bool(dimensions(dot).lhs_batching_dimensions)


def merges(dot: ir.Operation) -> bool:
    """Return whether a dot's operand is a reshape that merged leading dimensions into one not contracted."""
    numbers = dimensions(dot)
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
