"""Small steps on a StableHLO module that the edits share: find, make, replace. A compiler's env."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def main_function(module: Any) -> Any:
    """The module's `main`; raises ValueError where it has none."""
    for op in module.body.operations:
        if op.attributes["sym_name"].value == "main":
            return op
    raise ValueError("expected a module with a function `main`; this has none")


def named(module: Any, name: str) -> list[Any]:
    """Every operation of this name, in every function, in order."""
    return [op for function in module.body.operations for op in _within(function) if op.name == name]


def _within(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation
                yield from _within(op.operation)


def users(value: Any) -> list[tuple[Any, int]]:
    """[(operation that reads the value, which of its operands the value is)]."""
    return [(use.owner.operation, use.operand_number) for use in value.uses]


def producer(value: Any) -> Any:
    """The operation that a value is a result of; None for an argument."""
    from jaxlib.mlir import ir

    # jaxlib 0.7.1 hands an argument out as a plain value: ask who owns it, not what it is.
    return None if isinstance(value.owner, ir.Block) else value.owner


def shape(value: Any) -> tuple[int, ...]:
    """Extents of a ranked tensor."""
    from jaxlib.mlir import ir

    return tuple(ir.RankedTensorType(value.type).shape)


def tensor(shape: Sequence[int], like: Any) -> Any:
    """The type of a tensor of this shape with the element type of another value."""
    from jaxlib.mlir import ir

    return ir.RankedTensorType.get(list(shape), ir.RankedTensorType(like.type).element_type)


def make(name: str, result: Any, operands: Sequence[Any], **attributes: str) -> Any:
    """A new operation's only result, put in at the current insertion point; attributes as MLIR text."""
    from jaxlib.mlir import ir

    parsed = {key: ir.Attribute.parse(text) for key, text in attributes.items()}
    return ir.Operation.create(name, [result], list(operands), parsed).results[0]


def integers(values: Sequence[int]) -> str:
    """The text of a dense array attribute of 64-bit integers."""
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def constant(value: float, like: Any, shape: Sequence[int] = ()) -> Any:
    """A constant tensor of one repeated value, at the current insertion point."""
    from jaxlib.mlir import ir

    kind = tensor(shape, like)
    splat = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(kind.element_type, value))
    return ir.Operation.create("stablehlo.constant", [kind], [], {"value": splat}).results[0]


def splat_value(value: Any) -> float | None:
    """The number that a constant repeats; None if the value is no such constant."""
    from jaxlib.mlir import ir

    op = producer(value)
    if op is None or op.name != "stablehlo.constant":
        return None
    elements = ir.DenseElementsAttr(op.attributes["value"])
    return ir.FloatAttr(elements.get_splat_value()).value if elements.is_splat else None
