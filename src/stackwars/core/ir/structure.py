"""A program's numbers, and the four claims about its form, each decided by a rule over the normalised IR.

Every rule looks at one program of one framework, finds its attentions, normalisations and products by how operations
are connected, and answers with a word below. "Not applicable": the program has no part that the claim is about.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from jaxlib.mlir import ir

from stackwars.core import mlir
from stackwars.core.ir.canonical import canonical_hash
from stackwars.core.ir.normalise import only_adds_ones, splat
from stackwars.core.mlir import BROADCAST, CONSTANT, CONTROL_FLOW, DOT, RESHAPE, TRANSPOSE

CLAIMS = ("flattening", "layernorm", "qkv", "contraction")
PRESERVED, FLATTENED = "preserved", "flattened"  # batch and sequence before a matrix product
FINE_GRAINED, HIGH_LEVEL = "fine-grained", "high-level"  # layer normalisation
COMBINED, SEPARATE = "combined", "separate"  # projections of queries, keys and values
EXPLICIT, PREPARED = "explicit", "prepared"  # contraction in place, or after moving the operands
BOTH = "both"
NOT_APPLICABLE = "not applicable"
NO_PROGRAM = "no program"

# These change where a value lies, not what it is; convert changes its type alone.
MOVES = {RESHAPE, TRANSPOSE, BROADCAST, "stablehlo.convert"}
# Between the sums and the root: division by the count, epsilon, the guard against a negative.
_STEPS = MOVES | {
    f"stablehlo.{kind}" for kind in ("add", "subtract", "multiply", "divide", "maximum", "select", "power")
}


def decide(module: ir.Module) -> dict[str, str]:
    """Return the words of the four claims, decided for a normalised program; in the order of CLAIMS.

    Only dots that contract something count; one that does not only multiplies elements.
    """
    main = mlir.entry(module)
    dots = [op for op in mlir.walk(main) if is_product(op)]
    words = _flattening(dots), _layernorm(main), _qkv(main), _contraction(dots)
    return dict(zip(CLAIMS, words, strict=True))


def _flattening(dots: list[ir.Operation]) -> str:
    """Decide whether dots without batching dimensions read a reshape that merged leading dimensions.

    Other dots count as preserving if an operand has two or more dimensions, of extents over
    1, that are not contracted. Batched products (the scores of attention) do not count: they merge batch and heads.
    """
    flat = [dot for dot in dots if not is_batched(dot) and merges(dot)]
    preserved = [dot for dot in dots if dot not in flat and _keeps(dot)]
    return _either(len(preserved), PRESERVED, len(flat), FLATTENED)


def _layernorm(main: ir.Operation) -> str:
    """Decide whether normalisation over the last axis is batch_norm_training or arithmetic.

    The first scales by 1 and shifts by 0, over another axis than the feature's. The second is a root of a variance,
    from the sum of a value and the sum of its squares over the last axis. A root of a mean of squares without a mean
    that is taken off is neither.
    """
    every = list(mlir.walk(main))
    high_level = [op for op in every if op.name == "stablehlo.batch_norm_training"]
    plain = sum(splat(op.operands[1]) == 1 and splat(op.operands[2]) == 0 for op in high_level)
    arithmetic = sum(op.name in ("stablehlo.rsqrt", "stablehlo.sqrt") and _is_of_variance(op) for op in every)
    return _either(arithmetic, FINE_GRAINED, plain, HIGH_LEVEL)


def _qkv(main: ir.Operation) -> str:
    """Decide how many projections the queries, keys and values of an attention come from.

    An attention is a product with batching dimensions whose result reaches, without passing another product, an
    exponential and then a second product with batching dimensions. Queries and keys are the first one's operands,
    values the second one's other operand. A projection is the next product above one of them that reads an argument of
    rank 2 or more as its weight. A product is a dot_general that contracts something: a mask of heads may be applied by
    one that does not.
    """
    sizes = []
    for dot in mlir.walk(main):
        if not is_product(dot) or not is_batched(dot):
            continue
        reached = {dot} | after(dot.results, _passes)
        if any(op.name == "stablehlo.exponential" for op in reached) and (values := _values(reached)):
            sizes.append(_projections([*dot.operands, *values]))
    return _either(sizes.count(1), COMBINED, sum(size > 1 for size in sizes), SEPARATE)


def _contraction(dots: list[ir.Operation]) -> str:
    """Decide whether dots contract operands of rank over 2 in place, or read moved ones.

    Moved: directly the result of a transpose, or of a reshape that merged leading dimensions (also
    batch and heads). Splitting the features into heads, or joining them again, is neither.
    """
    moved = [dot for dot in dots if reads(dot, TRANSPOSE) or merges(dot)]
    rest = [dot for dot in dots if dot not in moved]
    explicit = [dot for dot in rest if max(len(mlir.shape(operand)) for operand in dot.operands) > 2]
    return _either(len(explicit), EXPLICIT, len(moved), PREPARED)


def _either(first: int, one: str, second: int, other: str) -> str:
    """Return the word of the majority: BOTH if they are as many, NOT_APPLICABLE if there are none."""
    if not first and not second:
        return NOT_APPLICABLE
    if first == second:
        return BOTH
    return one if first > second else other


def _keeps(dot: ir.Operation) -> bool:
    return not is_batched(dot) and any(
        sum(extent > 1 for axis, extent in enumerate(mlir.shape(operand)) if axis not in contracted) > 1
        for operand, contracted in _contracted(dot)
    )


def _contracted(dot: ir.Operation) -> Iterator[tuple[ir.Value, list[int]]]:
    """Yield the operands of a dot, each with its contracted axes."""
    numbers = mlir.dimensions(dot)
    axes = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    return zip(dot.operands, axes, strict=True)


def _passes(op: ir.Operation) -> bool:
    # Beyond these, a value is no longer the result of a projection, scaled, rotated or laid out anew.
    boundary = ("stablehlo.convolution", "stablehlo.gather", "stablehlo.batch_norm_training")
    return op.name not in boundary and not is_product(op)


def _values(reached: set[ir.Operation]) -> list[ir.Value]:
    """Return the other operands of the batched products that read these results."""
    readers = {use.owner.operation for op in reached for result in op.results for use in result.uses}
    products = [op for op in readers if is_product(op) and is_batched(op)]
    return [value for op in products for value in op.operands if mlir.producer(value) not in reached]


def _projections(values: list[ir.Value]) -> int:
    """Return how many projections these values come from."""
    makers = {made_by for value in made_from(values, _passes) if (made_by := mlir.producer(value)) is not None}
    return sum(is_product(op) and not is_batched(op) and any(map(_is_weight, op.operands)) for op in makers)


def _is_weight(value: ir.Value) -> bool:
    """Return whether it is an argument of rank 2 or more, moved, or several of these joined."""
    moves = MOVES | {"stablehlo.concatenate", "stablehlo.slice"}
    return all(
        len(mlir.shape(source)) >= 2 if (made_by := mlir.producer(source)) is None else made_by.name in moves
        for source in made_from([value], lambda op: op.name in moves)
    )


def _is_of_variance(op: ir.Operation) -> bool:
    """Return whether a root is taken of a variance, and not of a mean of squares or of anything else."""
    sums = _sums(op.operands)
    squared = [value for total in sums if (value := _unsquared(total)) is not None]
    summed = [origin(total) for total in sums]
    return any(value in summed or _is_centred(value) for value in squared)


def _sums(values: Iterable[ir.Value]) -> list[ir.Value]:
    """Return the values that are summed over their last axis in the arithmetic that computes these values."""
    sources = made_from(values, lambda op: op.name in _STEPS)
    return [source for value in sources if (source := _summed(value)) is not None]


def _summed(value: ir.Value) -> ir.Value | None:
    """Return x if the value is a sum of x over its last axis, perhaps one of several in one reduce; else None."""
    made_by = mlir.producer(value)
    if made_by is None or made_by.name != "stablehlo.reduce":
        return None
    place = list(made_by.results).index(value)
    source, body = made_by.operands[place], made_by.regions[0].blocks[0]
    axes = list(ir.DenseI64ArrayAttr(made_by.attributes["dimensions"]))
    if not mlir.element(source).startswith(("f", "bf")) or axes != [len(mlir.shape(source)) - 1]:
        return None
    combined = mlir.producer(list(body.operations)[-1].operation.operands[place])
    if combined is None or combined.name != "stablehlo.add":
        return None
    pair = {body.arguments[place], body.arguments[place + len(made_by.results)]}
    return source if set(combined.operands) == pair else None


def _unsquared(value: ir.Value) -> ir.Value | None:
    """Return x, as it was before it was moved, if the value is x * x or a power of x; else None."""
    made_by = mlir.producer(origin(value))
    if made_by is None or made_by.name not in ("stablehlo.multiply", "stablehlo.power"):
        return None
    left, right = made_by.operands
    if made_by.name == "stablehlo.multiply" and left != right:
        return None
    return origin(left)


def _is_centred(value: ir.Value) -> bool:
    """Return whether the value is x minus something computed from a sum of x over the last axis."""
    made_by = mlir.producer(value)
    if made_by is None or made_by.name != "stablehlo.subtract":
        return False
    minuend, mean = map(origin, made_by.operands)
    return any(origin(total) == minuend for total in _sums([mean]))


def origin(value: ir.Value) -> ir.Value:
    """Return the value that this one was moved from, upwards through MOVES."""
    while (made_by := mlir.producer(value)) is not None and made_by.name in MOVES:
        value = made_by.operands[0]
    return value


def made_from(values: Iterable[ir.Value], through: Callable[[ir.Operation], bool]) -> list[ir.Value]:
    """Return the values and those that they are computed from, as far up as `through` lets."""
    reached: set[ir.Operation] = set()
    result = list(values)
    waiting = list(result)
    while waiting:
        made_by = mlir.producer(waiting.pop())
        if made_by is not None and made_by not in reached and through(made_by):
            reached.add(made_by)
            result.extend(made_by.operands)
            waiting.extend(made_by.operands)
    return result


def after(values: Iterable[ir.Value], through: Callable[[ir.Operation], bool]) -> set[ir.Operation]:
    """Return the operations that depend on the values, as far down as `through` lets."""
    reached: set[ir.Operation] = set()
    waiting = list(values)
    while waiting:
        for use in waiting.pop().uses:
            reader = use.owner.operation
            if reader not in reached and through(reader):
                reached.add(reader)
                waiting.extend(reader.results)
    return reached


def reads(op: ir.Operation, kind: str) -> bool:
    """Return whether an operand is, directly, the result of an operation of this kind."""
    made_by = [mlir.producer(operand) for operand in op.operands]
    return any(maker is not None and maker.name == kind for maker in made_by)


def is_product(op: ir.Operation) -> bool:
    """Return whether it is a dot_general that contracts something; otherwise it only multiplies elements."""
    return op.name == DOT and bool(mlir.dimensions(op).lhs_contracting_dimensions)


def is_batched(dot: ir.Operation) -> bool:
    return bool(mlir.dimensions(dot).lhs_batching_dimensions)


def merges(dot: ir.Operation) -> bool:
    """Return whether a dot's operand is a reshape that merged leading dimensions into one not contracted."""
    return any(
        0 not in contracted and _merges_leading(mlir.producer(operand))
        for operand, contracted in _contracted(dot)
    )


def _merges_leading(op: ir.Operation | None) -> bool:
    if op is None or op.name != RESHAPE:
        return False
    source, result = mlir.shape(op.operands[0]), mlir.shape(op.results[0])
    # Dropping an extent of 1 moves no dimension into another: that merges nothing.
    wide = [extent for extent in source if extent != 1]
    return (
        bool(result)
        and len(result) < len(wide)
        and any(math.prod(wide[:count]) == result[0] for count in range(2, len(wide) + 1))
    )


def metrics(module: ir.Module) -> dict[str, object]:
    """Return the numbers of a raw or normalised program, by the names that columns.yaml describes.

    Each function and each loop's body counts once; constants, terminators and the combiners of reductions do not
    count.

    :raises ProgramError: if the program has no entry.
    """
    every = [op for function in mlir.functions(module) for op in mlir.walk(function)]
    kinds = Counter(op.name for op in every if op.name != CONSTANT)
    return {
        "operations": sum(kinds.values()),
        "operations_by_kind": dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
        "reshapes": kinds.get(RESHAPE, 0),
        "transposes": kinds.get(TRANSPOSE, 0),
        "broadcasts": kinds.get(BROADCAST, 0),
        "layout_bytes": sum(_written(op) for op in every),
        "depth": _depth(module, mlir.entry(module).regions[0], {}, {}),
        "canonical_hash": canonical_hash(module),
    }


def _written(op: ir.Operation) -> int:
    """Return the bytes of an operation that moves, repeats or leaves out elements; 0 for any other.

    Types of less than a byte take one. A reshape keeps the row-major order of all elements and writes nothing.
    """
    moves = ("concatenate", "slice", "pad", "reverse", "dynamic_slice", "transpose", "broadcast_in_dim")
    if op.name.removeprefix("stablehlo.") not in moves or (op.name == BROADCAST and only_adds_ones(op)):
        return 0
    kind = mlir.element(op.results[0])
    bits = re.search(r"\d+", kind)
    parts = 2 if kind.startswith("complex") else 1
    return math.prod(mlir.shape(op.results[0])) * parts * max(8, int(bits[0]) if bits else 8) // 8


def _depth(module: ir.Module, region: ir.Region, outer: dict[ir.Value, int], called: dict[str, int]) -> int:
    """Return the longest chain of a region, in operations. outer: the depth of the values that it may read."""
    values, deepest = dict(outer), 0
    for part in region.blocks:
        for view in part.operations:
            op = view.operation
            before = max((values.get(value, 0) for value in op.operands), default=0)
            depth = before + _length(module, op, called)
            if op.name in CONTROL_FLOW:
                inner = {value: max(at, before) for value, at in values.items()}
                depth = max([before, *(_depth(module, r, inner, called) for r in op.regions)]) + 1
            for result in op.results:
                values[result] = depth
            deepest = max(deepest, depth)
    return deepest


def _length(module: ir.Module, op: ir.Operation, called: dict[str, int]) -> int:
    if op.name != "func.call":
        return int(op.name not in (CONSTANT, "func.return", "stablehlo.return"))
    wanted = mlir.callee(op)
    if wanted not in called:
        function = next(f for f in mlir.functions(module) if mlir.name(f) == wanted)
        called[wanted] = _depth(module, function.regions[0], {}, called)
    return called[wanted]
