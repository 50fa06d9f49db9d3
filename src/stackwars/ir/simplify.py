"""Rules that give two spellings of one operation the same form; each is exact to the last bit.

A rule looks at one operation and at what its operands are made from, and answers with the value
that takes the place of its result, or with None.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy
from jaxlib.mlir import ir

from stackwars.ir.constants import computed, filled, splat
from stackwars.ir.module import shape
from stackwars.ir.queries import BROADCAST, RESHAPE, TRANSPOSE, producer

Rule = Callable[[ir.Operation], ir.Value | None]


def constant_result(op: ir.Operation) -> ir.Value | None:
    """Replace moves of a constant of one value, and exact arithmetic on such constants, by a constant."""
    if op.name in (BROADCAST, RESHAPE, TRANSPOSE, "stablehlo.slice"):
        number = splat(op.operands[0])
    else:
        is_single = len(op.results) == 1 and len(op.regions) == 0 and op.name != "stablehlo.constant"
        number = computed(op) if op.name.startswith("stablehlo.") and is_single else None
    return None if number is None else filled(op.results[0].type, number, op)


def unchanged(op: ir.Operation) -> ir.Value | None:
    """Replace a move that moves nothing by its operand."""
    if op.name == "stablehlo.concatenate":
        return op.operands[0] if len(op.operands) == 1 else None
    if op.name not in (BROADCAST, RESHAPE, TRANSPOSE, "stablehlo.convert", "stablehlo.slice"):
        return None
    if op.operands[0].type != op.results[0].type:
        return None
    axes = _axes(op)
    return op.operands[0] if axes is None or axes == sorted(axes) else None


def merged_move(op: ir.Operation) -> ir.Value | None:
    """Merge a reshape of a reshape, transpose of a transpose or broadcast of a broadcast."""
    made_by = producer(op.operands[0]) if op.name in (BROADCAST, RESHAPE, TRANSPOSE) else None
    if made_by is None or made_by.name != op.name:
        return None
    if op.name == RESHAPE:
        return _move(RESHAPE, made_by.operands[0], op, None)
    outer, inner = _axes(op), _axes(made_by)
    axes = [outer[axis] for axis in inner] if op.name == BROADCAST else [inner[a] for a in outer]
    return _move(op.name, made_by.operands[0], op, axes)


def plain_broadcast(op: ir.Operation) -> ir.Value | None:
    """Replace a broadcast that only adds extents of 1 by a reshape."""
    if op.name != BROADCAST:
        return None
    axes = _axes(op)
    same = math.prod(shape(op.operands[0])) == math.prod(shape(op.results[0]))
    return _move(RESHAPE, op.operands[0], op, None) if same and axes == sorted(axes) else None


def broadcast_of_reshape(op: ir.Operation) -> ir.Value | None:
    """Let a broadcast read past a reshape that only adds or drops extents of 1."""
    made_by = producer(op.operands[0]) if op.name == BROADCAST else None
    if made_by is None or made_by.name != RESHAPE:
        return None
    source = made_by.operands[0]
    axes = _past(shape(source), shape(made_by.results[0]), _axes(op), len(shape(op.results[0])))
    return None if axes is None else _move(BROADCAST, source, op, axes)


def identity_element(op: ir.Operation) -> ir.Value | None:
    """Return x for x * 1, x / 1, x - 0, integer x + 0, max(x, -inf), min(x, inf), true and x, false or x."""
    name = op.name.removeprefix("stablehlo.")
    if name not in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "and", "or"):
        return None
    left, right = op.operands
    if _is_identity(name, splat(right)):
        return left
    free = name not in ("subtract", "divide")
    return right if free and _is_identity(name, splat(left)) else None


def decided_select(op: ir.Operation) -> ir.Value | None:
    """Resolve a select whose condition is a constant, or that chooses between one value and itself."""
    if op.name != "stablehlo.select":
        return None
    condition, when_true, when_false = op.operands
    number = splat(condition)
    if number is not None:
        return when_true if number else when_false
    if when_true == when_false:
        return when_true
    # One condition for all elements may be written as a scalar.
    made_by = producer(condition)
    if made_by is None or made_by.name != BROADCAST or shape(made_by.operands[0]) != ():
        return None
    return _create(op, [made_by.operands[0], when_true, when_false], {})


RULES: tuple[Rule, ...] = (
    unchanged,
    constant_result,
    merged_move,
    plain_broadcast,
    broadcast_of_reshape,
    identity_element,
    decided_select,
)


def simpler(op: ir.Operation) -> ir.Value | None:
    """Return the value that the first rule that applies puts in the place of the operation's result."""
    return next((value for rule in RULES if (value := rule(op)) is not None), None)


def _is_identity(name: str, number: numpy.generic | None) -> bool:
    if number is None:
        return False
    floating = isinstance(number, numpy.floating)
    if isinstance(number, numpy.bool_):
        return bool(number) == (name == "and") and name in ("and", "or")
    if name in ("multiply", "divide"):
        return number == 1
    if name == "subtract":
        return number == 0 and not (floating and numpy.signbit(number))
    if name == "add":
        # -0 + 0 is 0: only the negative zero leaves every float as it is.
        return number == 0 and (not floating or bool(numpy.signbit(number)))
    if name in ("maximum", "minimum"):
        low = -numpy.inf if floating else numpy.iinfo(number.dtype).min
        high = numpy.inf if floating else numpy.iinfo(number.dtype).max
        return number == (low if name == "maximum" else high)
    return False


def _axes(op: ir.Operation) -> list[int] | None:
    key = {BROADCAST: "broadcast_dimensions", TRANSPOSE: "permutation"}.get(op.name)
    return None if key is None else list(ir.DenseI64ArrayAttr(op.attributes[key]))


def _past(source: tuple[int, ...], reshaped: tuple[int, ...], axes: list[int], rank: int) -> list[int] | None:
    """Return where the dimensions of a reshape's operand go in a broadcast of its result, if they can."""
    result: list[int | None] = []
    position = 0
    for extent in source:
        ahead = position
        while ahead < len(reshaped) and reshaped[ahead] == 1 and extent != 1:
            ahead += 1
        if ahead < len(reshaped) and reshaped[ahead] == extent:
            result.append(axes[ahead])
            position = ahead + 1
        elif extent == 1:
            result.append(None)
        else:
            return None
    if any(extent != 1 for extent in reshaped[position:]):
        return None
    # A dropped extent of 1 goes to the next dimension of the result that nothing else fills.
    taken = {axis for axis in result if axis is not None}
    for index, axis in enumerate(result):
        if axis is None:
            after = (result[index - 1] + 1) if index else 0
            free = [place for place in range(after, rank) if place not in taken]
            if not free:
                return None
            result[index] = free[0]
            taken.add(free[0])
    return result if result == sorted(result) else None


def _move(kind: str, source: ir.Value, old: ir.Operation, axes: list[int] | None) -> ir.Value:
    attributes = {}
    if axes is not None:
        key = {BROADCAST: "broadcast_dimensions", TRANSPOSE: "permutation"}[kind]
        attributes[key] = ir.DenseI64ArrayAttr.get(axes, context=old.context)
    return _create(old, [source], attributes, kind)


def _create(old: ir.Operation, operands: list[ir.Value], attributes: dict, kind: str | None = None) -> ir.Value:
    return ir.Operation.create(
        kind or old.name,
        results=[old.results[0].type],
        operands=operands,
        attributes=attributes,
        ip=ir.InsertionPoint(old),
        loc=old.location,
    ).result
