"""Attention in a program: the product of queries and keys, and the projections it is made from."""

from __future__ import annotations

from dataclasses import dataclass

from jaxlib.mlir import ir

from stackwars.ir import dataflow
from stackwars.ir.counts import is_batched, is_product
from stackwars.ir.dataflow import MOVES, producer
from stackwars.ir.module import shape, walk

# Beyond these, a value is no longer what a projection gave, scaled, rotated or laid out anew.
_BOUNDARY = {f"stablehlo.{kind}" for kind in ("convolution", "gather", "batch_norm_training")}
_WEIGHT_MOVES = MOVES | {"stablehlo.concatenate", "stablehlo.slice"}


@dataclass(frozen=True)
class Attention:
    """One attention: the projections that queries, keys and values come from, without repeats."""

    projections: list[ir.Operation]


def attentions(function: ir.Operation) -> list[Attention]:
    """Every attention of a function, in program order.

    The rule: a product with batching dimensions whose result reaches, without passing another
    product, an exponential and then a second product with batching dimensions. Queries and keys are
    the first one's operands, values the second one's other operand. A projection is the next product
    above one of them that reads an argument of rank 2 or more as its weight. A product is a
    dot_general that contracts something: a mask of heads may be applied by one that does not.
    """
    found = []
    for dot in walk(function):
        if not is_product(dot) or not is_batched(dot):
            continue
        made = {dot} | dataflow.after(dot.results, _passes)
        if any(op.name == "stablehlo.exponential" for op in made):
            values = _values(made)
            if values:
                found.append(Attention(_projections([*dot.operands, *values])))
    return found


def activation(projection: ir.Operation) -> ir.Value:
    """What a projection reads besides its weight, as it was before it was moved."""
    left, right = projection.operands
    # Where both are arguments, the input comes with a batch and so has the higher rank.
    options = [value for value in (left, right) if not _is_weight(value)] or [left, right]
    return max(map(dataflow.origin, options), key=lambda value: len(shape(value)))


def _passes(op: ir.Operation) -> bool:
    return op.name not in _BOUNDARY and not is_product(op)


def _values(made: set[ir.Operation]) -> list[ir.Value]:
    """Other operands of the batched products that read what was made."""
    readers = {use.owner.operation for op in made for result in op.results for use in result.uses}
    products = [op for op in readers if is_product(op) and is_batched(op)]
    return [value for op in products for value in op.operands if producer(value) not in made]


def _projections(values: list[ir.Value]) -> list[ir.Operation]:
    above = dataflow.before(values, _passes)
    operands = [*values, *(operand for op in above for operand in op.operands)]
    makers = {made_by for value in operands if (made_by := producer(value)) is not None}
    return [op for op in makers if is_product(op) and not is_batched(op) and any(map(_is_weight, op.operands))]


def _is_weight(value: ir.Value) -> bool:
    """Whether it is an argument of rank 2 or more, moved, or several such joined."""
    above = dataflow.before([value], lambda op: op.name in _WEIGHT_MOVES)
    sources = [value, *(operand for op in above for operand in op.operands)]
    sources = [source for source in sources if producer(source) not in above]
    return all(producer(source) is None and len(shape(source)) >= 2 for source in sources)
