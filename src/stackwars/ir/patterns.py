"""Find attentions and normalisations in a program, by how their operations are connected."""

from __future__ import annotations

from jaxlib.mlir import ir

from stackwars.ir import queries
from stackwars.ir.constants import splat
from stackwars.ir.module import element, shape, walk
from stackwars.ir.queries import MOVES, is_batched, is_product, origin, producer

# Beyond these, a value is no longer what a projection gave, scaled, rotated or laid out anew.
_BOUNDARY = {f"stablehlo.{kind}" for kind in ("convolution", "gather", "batch_norm_training")}
_WEIGHT_MOVES = MOVES | {"stablehlo.concatenate", "stablehlo.slice"}
_ROOTS = {"stablehlo.rsqrt", "stablehlo.sqrt"}
# Between the sums and the root: division by the count, epsilon, the guard against a negative.
_STEPS = MOVES | {
    f"stablehlo.{kind}" for kind in ("add", "subtract", "multiply", "divide", "maximum", "select", "power")
}


def attentions(function: ir.Operation) -> list[list[ir.Operation]]:
    """Return the projections of every attention of a function, in program order; each once.

    The rule: a product with batching dimensions whose result reaches, without passing another
    product, an exponential and then a second product with batching dimensions. Queries and keys are
    the first one's operands, values the second one's other operand. A projection is the next product
    above one of them that reads an argument of rank 2 or more as its weight. A product is a
    dot_general that contracts something: a mask of heads may be applied by one that does not.
    """
    matches = []
    for dot in walk(function):
        if not is_product(dot) or not is_batched(dot):
            continue
        reached = {dot} | queries.after(dot.results, _passes)
        if any(op.name == "stablehlo.exponential" for op in reached):
            values = _values(reached)
            if values:
                matches.append(_projections([*dot.operands, *values]))
    return matches


def _passes(op: ir.Operation) -> bool:
    return op.name not in _BOUNDARY and not is_product(op)


def _values(reached: set[ir.Operation]) -> list[ir.Value]:
    """Return the other operands of the batched products that read these results."""
    readers = {use.owner.operation for op in reached for result in op.results for use in result.uses}
    products = [op for op in readers if is_product(op) and is_batched(op)]
    return [value for op in products for value in op.operands if producer(value) not in reached]


def _projections(values: list[ir.Value]) -> list[ir.Operation]:
    above = queries.before(values, _passes)
    operands = [*values, *(operand for op in above for operand in op.operands)]
    makers = {made_by for value in operands if (made_by := producer(value)) is not None}
    return [op for op in makers if is_product(op) and not is_batched(op) and any(map(_is_weight, op.operands))]


def _is_weight(value: ir.Value) -> bool:
    """Return whether it is an argument of rank 2 or more, moved, or several such joined."""
    above = queries.before([value], lambda op: op.name in _WEIGHT_MOVES)
    sources = [value, *(operand for op in above for operand in op.operands)]
    sources = [source for source in sources if producer(source) not in above]
    return all(producer(source) is None and len(shape(source)) >= 2 for source in sources)


def norms(function: ir.Operation) -> tuple[int, int]:
    """Return how many layer normalisations of a function are one operation, and how many are arithmetic.

    The first: batch_norm_training that scales by 1 and shifts by 0, over another axis than the feature's. The second:
    a root of a variance, made from the sum of a value and the sum of its squares over the last axis. A root of a mean
    of squares without a mean that is taken off is neither.
    """
    every = list(walk(function))
    return (
        sum(op.name == "stablehlo.batch_norm_training" and _plain(op) for op in every),
        sum(op.name in _ROOTS and _is_of_variance(op) for op in every),
    )


def _plain(op: ir.Operation) -> bool:
    _, scale, shift = op.operands
    return splat(scale) == 1 and splat(shift) == 0


def _is_of_variance(op: ir.Operation) -> bool:
    """Return whether a root is taken of a variance, and not of a mean of squares or of anything else."""
    above = queries.before(op.operands, lambda made_by: made_by.name in _STEPS)
    operands = [operand for step in [op, *above] for operand in step.operands]
    sums = [source for value in operands if (source := _summed(value)) is not None]
    squared = [value for total in sums if (value := _unsquared(total)) is not None]
    summed = [origin(total) for total in sums]
    return any(value in summed or _is_centred(value) for value in squared)


def _summed(value: ir.Value) -> ir.Value | None:
    """Return x if the value is a sum of x over its last axis, perhaps one of several in one reduce; else None."""
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
    """Return x, as it was before it was moved, if the value is x * x or a power of x; else None."""
    made_by = producer(origin(value))
    if made_by is None or made_by.name not in ("stablehlo.multiply", "stablehlo.power"):
        return None
    left, right = made_by.operands
    if made_by.name == "stablehlo.multiply" and left != right:
        return None
    return origin(left)


def _is_centred(value: ir.Value) -> bool:
    """Return whether the value is x minus something made from a sum of x over the last axis."""
    made_by = producer(value)
    if made_by is None or made_by.name != "stablehlo.subtract":
        return False
    minuend, mean = map(origin, made_by.operands)
    above = queries.before([mean], lambda op: op.name in _STEPS)
    operands = [mean, *(operand for step in above for operand in step.operands)]
    sums = [source for value in operands if (source := _summed(value)) is not None]
    return any(origin(total) == minuend for total in sums)
