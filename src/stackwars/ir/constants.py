"""Constants of one value repeated: read, made, and computed with.

Only operations that IEEE 754 or two's complement fix to the last bit are computed here; what a
compiler may round in its own way (exponentials, say) stays in the program.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy
from jaxlib.mlir import ir

from stackwars.ir.element_types import NUMPY
from stackwars.ir.module import is_tensor
from stackwars.ir.queries import CONSTANT, producer

_ANY: dict[str, Callable] = {
    "add": numpy.add,
    "subtract": numpy.subtract,
    "multiply": numpy.multiply,
    "maximum": numpy.maximum,
    "minimum": numpy.minimum,
    "negate": numpy.negative,
}
_FLOATS: dict[str, Callable] = {"divide": numpy.divide, "sqrt": numpy.sqrt}
_BITS: dict[str, Callable] = {
    "and": numpy.bitwise_and,
    "or": numpy.bitwise_or,
    "xor": numpy.bitwise_xor,
    "not": numpy.invert,
}
_COMPARE: dict[str, Callable] = {
    "EQ": numpy.equal,
    "NE": numpy.not_equal,
    "LT": numpy.less,
    "LE": numpy.less_equal,
    "GT": numpy.greater,
    "GE": numpy.greater_equal,
}


def splat(value: ir.Value) -> numpy.generic | None:
    """Return the number that fills a constant; None for other values, mixed constants, other types."""
    made_by = producer(value)
    if made_by is None or made_by.name != CONSTANT or not is_tensor(value):
        return None
    kind = NUMPY.get(str(ir.RankedTensorType(value.type).element_type))
    if kind is None or not isinstance(made_by.attributes["value"], ir.DenseElementsAttr):
        return None
    dense = ir.DenseElementsAttr(made_by.attributes["value"])
    if not dense.is_splat:
        return None
    with numpy.errstate(over="ignore"):
        return kind(dense.get_splat_value().value)


def filled(tensor: ir.Type, number: numpy.generic, before: ir.Operation) -> ir.Value:
    """Return a new constant of this type, filled with the number, before an operation."""
    kind = ir.RankedTensorType(tensor).element_type
    if isinstance(number, numpy.floating):
        attribute = ir.FloatAttr.get(kind, float(number), loc=before.location)
    else:
        attribute = ir.IntegerAttr.get(kind, int(number))
    dense = ir.DenseElementsAttr.get_splat(tensor, attribute)
    return ir.Operation.create(
        CONSTANT,
        results=[tensor],
        attributes={"value": dense},
        ip=ir.InsertionPoint(before),
        loc=before.location,
    ).result


def computed(op: ir.Operation) -> numpy.generic | None:
    """Return the number that fills the result of an operation on constants; None if it is not known."""
    numbers = [splat(operand) for operand in op.operands]
    if not numbers or any(number is None for number in numbers):
        return None
    name = op.name.removeprefix("stablehlo.")
    result = NUMPY.get(str(ir.RankedTensorType(op.results[0].type).element_type))
    function = _function(op, name, numbers[0])
    if function is None or result is None:
        return None
    with numpy.errstate(all="ignore"):
        return result(function(*numbers))


def _function(op: ir.Operation, name: str, first: numpy.generic) -> Callable | None:
    if name == "convert":
        # Out of range, the conversion to integers is the implementation's own.
        exact = not isinstance(first, numpy.floating) or first == numpy.trunc(first)
        small = isinstance(first, numpy.bool_) or abs(float(first)) < 2**7
        floating = str(ir.RankedTensorType(op.results[0].type).element_type).startswith("f")
        return (lambda number: number) if floating or (exact and small) else None
    if name == "compare":
        text = str(op.attributes["comparison_direction"])
        total = "compare_type" in op.attributes and "TOTALORDER" in str(op.attributes["compare_type"])
        return None if total else next(f for word, f in _COMPARE.items() if f" {word}>" in text)
    if isinstance(first, numpy.bool_):
        return _BITS.get(name)
    if isinstance(first, numpy.floating):
        return (_ANY | _FLOATS).get(name)
    return (_ANY | _BITS).get(name)
