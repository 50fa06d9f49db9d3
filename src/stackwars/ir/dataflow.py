"""Which operations a value is made from, and which are made from it, within one function."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jaxlib.mlir import ir

from stackwars.ir.module import shape

# These change where a value lies, not what it is; convert changes its type alone.
MOVES = {
    "stablehlo.reshape",
    "stablehlo.transpose",
    "stablehlo.broadcast_in_dim",
    "stablehlo.convert",
}


def producer(value: ir.Value) -> ir.Operation | None:
    """The operation whose result the value is; None for an argument of a function."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def origin(value: ir.Value) -> ir.Value:
    """The value that this one was moved from: upwards through MOVES."""
    while (made_by := producer(value)) is not None and made_by.name in MOVES:
        value = made_by.operands[0]
    return value


def before(
    values: Iterable[ir.Value],
    through: Callable[[ir.Operation], bool],
    stop: ir.Value | None = None,
) -> set[ir.Operation]:
    """Operations that the values are made from, as far up as `through` lets, not above `stop`."""
    found: set[ir.Operation] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        made_by = None if stop is not None and value == stop else producer(value)
        if made_by is not None and made_by not in found and through(made_by):
            found.add(made_by)
            waiting.extend(made_by.operands)
    return found


def after(values: Iterable[ir.Value], through: Callable[[ir.Operation], bool]) -> set[ir.Operation]:
    """Operations that are made from the values, as far down as `through` lets."""
    found: set[ir.Operation] = set()
    waiting = list(values)
    while waiting:
        for use in waiting.pop().uses:
            reader = use.owner.operation
            if reader not in found and through(reader):
                found.add(reader)
                waiting.extend(reader.results)
    return found


def is_vector_argument(value: ir.Value) -> bool:
    """Whether the value is, but for MOVES, an argument of rank 1: a bias, a scale, a shift."""
    start = origin(value)
    return producer(start) is None and len(shape(start)) == 1
