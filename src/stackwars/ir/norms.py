"""Normalisation over the last axis in a program: one operation, or arithmetic that amounts to it."""

from __future__ import annotations

from dataclasses import dataclass

from jaxlib.mlir import ir

from stackwars.ir import dataflow
from stackwars.ir.constants import splat
from stackwars.ir.dataflow import MOVES, origin, producer
from stackwars.ir.module import element, shape, walk

_ROOTS = {"stablehlo.rsqrt", "stablehlo.sqrt"}
# Between the sums and the root: division by the count, epsilon, the guard against a negative.
_STEPS = MOVES | {
    f"stablehlo.{kind}" for kind in ("add", "subtract", "multiply", "divide", "maximum", "select", "power")
}


@dataclass(frozen=True)
class Norms:
    """How often each form occurs in a function.

    `batch_norm`: batch_norm_training that scales by 1 and shifts by 0, over another axis than the
    feature's: layer normalisation in other words. `arithmetic`: a root of a variance, made from the
    sum of a value and the sum of its squares over the last axis. `rms`: a root of a mean of
    squares over the last axis, without a mean that is taken off.
    """

    batch_norm: int
    arithmetic: int
    rms: int


def norms(function: ir.Operation) -> Norms:
    """Count the normalisations of a function, by their form."""
    every = list(walk(function))
    roots = [_root(op) for op in every if op.name in _ROOTS]
    plain = [op for op in every if op.name == "stablehlo.batch_norm_training" and _plain(op)]
    return Norms(len(plain), roots.count("arithmetic"), roots.count("rms"))


def _plain(op: ir.Operation) -> bool:
    _, scale, shift = op.operands
    return splat(scale) == 1 and splat(shift) == 0


def _root(op: ir.Operation) -> str | None:
    """What a root is taken of: a variance (`arithmetic`), a mean of squares (`rms`), or neither."""
    above = dataflow.before(op.operands, lambda made_by: made_by.name in _STEPS)
    operands = [operand for step in [op, *above] for operand in step.operands]
    sums = [found for value in operands if (found := _summed(value)) is not None]
    squared = [value for total in sums if (value := _unsquared(total)) is not None]
    if not squared:
        return None
    summed = [origin(total) for total in sums]
    if any(value in summed or _is_centred(value) for value in squared):
        return "arithmetic"
    return "rms"


def _summed(value: ir.Value) -> ir.Value | None:
    """x, where the value is a sum of x over its last axis, perhaps one of several in one reduce; else None."""
    made_by = producer(value)
    if made_by is None or made_by.name != "stablehlo.reduce":
        return None
    place = list(made_by.results).index(value)
    source, body = made_by.operands[place], made_by.regions[0].blocks[0]
    axes = list(ir.DenseI64ArrayAttr(made_by.attributes["dimensions"]))
    if not element(source).startswith(("f", "bf")) or axes != [len(shape(source)) - 1]:
        return None
    combined = producer(list(body.operations)[-1].operation.operands[place])
    if combined is None or combined.name != "stablehlo.add":
        return None
    pair = {body.arguments[place], body.arguments[place + len(made_by.results)]}
    return source if set(combined.operands) == pair else None


def _unsquared(value: ir.Value) -> ir.Value | None:
    """x, moves aside, where the value is x * x or a power of x; else None."""
    made_by = producer(origin(value))
    if made_by is None or made_by.name not in ("stablehlo.multiply", "stablehlo.power"):
        return None
    left, right = made_by.operands
    if made_by.name == "stablehlo.multiply" and left != right:
        return None
    return origin(left)


def _is_centred(value: ir.Value) -> bool:
    """Whether the value is x minus something made from a sum of x over the last axis."""
    made_by = producer(value)
    if made_by is None or made_by.name != "stablehlo.subtract":
        return False
    minuend, mean = map(origin, made_by.operands)
    above = dataflow.before([mean], lambda op: op.name in _STEPS)
    operands = [mean, *(operand for step in above for operand in step.operands)]
    sums = [found for source in operands if (found := _summed(source)) is not None]
    return any(origin(total) == minuend for total in sums)
