"""Give the spellings of one program one form, so that counts compare programs and not extractors.

torch_xla's names for CHLO operations become those operations. jaxlib's own passes legalise CHLO and composites to
StableHLO; its shape refinement, on shapes that are all known, inlines every call and removes dead functions. RULES
fold and merge moves and constants; equal operations are merged, unused ones and unused arguments are dropped. jaxlib
registers no pass for the last three (`canonicalize`, `cse`, `inline`, `symbol-dce` are not in its builds), so they are
done here on its bindings.

Every transpose, reshape and broadcast between two other operations stays, unless it moves nothing or joins with its
neighbour; no move is folded into a dot_general. Scalars that torch_xla uploads stay arguments, and the order of
arguments stays: `canonical_hash` does not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from io import BytesIO

import numpy
from jaxlib import _jax
from jaxlib.mlir import ir

from stackwars.core import mlir
from stackwars.core.ir.canonical import signature
from stackwars.core.mlir import BROADCAST, CONSTANT, CONTROL_FLOW, RESHAPE, TRANSPOSE, ProgramError
from stackwars.core.program_text import LEGALISE, with_chlo_erf
from stackwars.core.types import NUMPY

# Not merged and not dropped: they may have side effects, or give another result each time.
EFFECTS = {
    f"stablehlo.{kind}"
    for kind in (
        *("custom_call", "rng", "infeed", "outfeed", "send", "recv", "while", "case", "if"),
        *("all_gather", "all_reduce", "all_to_all", "collective_permute", "reduce_scatter"),
    )
}


def normalise(module: ir.Module) -> ir.Module:
    """Return a normalised copy of a program; the program itself is left as it is.

    :raises ProgramError: if jaxlib cannot legalise or inline it.
    """
    context = module.context
    copy, bytecode = ir.Module.parse(with_chlo_erf(str(module)), context), BytesIO()
    try:
        mlir.run_passes(copy, LEGALISE)
        copy.operation.write_bytecode(bytecode)
        inlined = _jax.mlir.refine_polymorphic_shapes(
            bytecode.getvalue(), enable_shape_assertions=False, validate_static_shapes=False
        )
    except (ir.MLIRError, ValueError, RuntimeError) as error:
        raise ProgramError(
            f"expected a program that jaxlib can legalise and inline, it stopped with: {error}"
        ) from None
    result = ir.Module.parse(inlined, context)
    calls = [mlir.callee(op) for op in mlir.walk(mlir.entry(result)) if op.name == "func.call"]
    if calls or len(mlir.functions(result)) != 1:
        names = [mlir.name(function) for function in mlir.functions(result)]
        raise ProgramError(f"expected one function without calls, got {names}, calling {calls}")
    main = mlir.entry(result)
    _settle_block(mlir.block(main), {})
    _drop_unused(mlir.block(main))
    _drop_arguments(main)
    return result


def _settle_block(body: ir.Block, known: dict[tuple, ir.Operation]) -> None:
    """Simplify and merge from the top down: an operation's operands are settled before it."""
    for view in list(body.operations):
        op = view.operation
        if op.name in CONTROL_FLOW:
            for region in op.regions:
                for inner in region.blocks:
                    _settle_block(inner, dict(known))
        _settle(op, known)


def _settle(op: ir.Operation, known: dict[tuple, ir.Operation]) -> None:
    while len(op.results) == 1 and (value := simpler(op)) is not None:
        op.results[0].replace_all_uses_with(value)
        op.erase()
        made_by = mlir.producer(value)
        if made_by is None:
            return
        op = made_by  # settled already, or made by a rule and not yet settled
    if op.name in EFFECTS or not op.results:
        return
    does, operands, free = signature(op)
    read = tuple(sorted(operands, key=hash) if free else operands)
    first = known.setdefault((does, read), op)
    if first != op:
        for old, new in zip(op.results, first.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase()


def _drop_unused(body: ir.Block) -> None:
    for view in reversed(list(body.operations)):
        op = view.operation
        for region in op.regions if op.name in CONTROL_FLOW else ():
            for inner in region.blocks:
                _drop_unused(inner)
        used = any(True for result in op.results for _ in result.uses)
        if op.results and not used and op.name not in EFFECTS:
            op.erase()


def _drop_arguments(main: ir.Operation) -> None:
    body = mlir.block(main)
    for index in reversed(range(len(body.arguments))):
        if not any(True for _ in body.arguments[index].uses):
            body.erase_argument(index)
    old = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    remaining = ir.FunctionType.get(
        [argument.type for argument in body.arguments], old.results, context=main.context
    )
    main.attributes["function_type"] = ir.TypeAttr.get(remaining, context=main.context)
    for key in ("arg_attrs", "res_attrs"):
        if key in main.attributes:
            del main.attributes[key]


# Rules that give two spellings of one operation the same form; each is exact to the last bit. A rule looks at one
# operation and at the makers of its operands, and returns the value that replaces its result, or None.
Rule = Callable[[ir.Operation], ir.Value | None]


def constant_result(op: ir.Operation) -> ir.Value | None:
    """Replace moves of a constant of one value, and exact arithmetic on such constants, by a constant."""
    if op.name in (BROADCAST, RESHAPE, TRANSPOSE, "stablehlo.slice"):
        number = splat(op.operands[0])
    else:
        is_single = len(op.results) == 1 and len(op.regions) == 0 and op.name != "stablehlo.constant"
        number = computed(op) if op.name.startswith("stablehlo.") and is_single else None
    return None if number is None else filled(op, number)


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
    made_by = mlir.producer(op.operands[0]) if op.name in (BROADCAST, RESHAPE, TRANSPOSE) else None
    if made_by is None or made_by.name != op.name:
        return None
    if op.name == RESHAPE:
        return _move(RESHAPE, made_by.operands[0], op)
    outer, inner = _axes(op), _axes(made_by)
    axes = [outer[axis] for axis in inner] if op.name == BROADCAST else [inner[a] for a in outer]
    return _move(op.name, made_by.operands[0], op, axes)


def plain_broadcast(op: ir.Operation) -> ir.Value | None:
    """Replace a broadcast that only adds extents of 1 by a reshape."""
    is_plain = op.name == BROADCAST and only_adds_ones(op)
    return _move(RESHAPE, op.operands[0], op) if is_plain else None


def only_adds_ones(broadcast: ir.Operation) -> bool:
    """Return whether a broadcast repeats no element and keeps the order of axes."""
    axes = _axes(broadcast)
    same = math.prod(mlir.shape(broadcast.operands[0])) == math.prod(mlir.shape(broadcast.results[0]))
    return same and axes == sorted(axes)


def broadcast_of_reshape(op: ir.Operation) -> ir.Value | None:
    """Let a broadcast read past a reshape that only adds or drops extents of 1."""
    made_by = mlir.producer(op.operands[0]) if op.name == BROADCAST else None
    if made_by is None or made_by.name != RESHAPE:
        return None
    source = made_by.operands[0]
    axes = _past(mlir.shape(source), mlir.shape(made_by.results[0]), _axes(op), len(mlir.shape(op.results[0])))
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
    made_by = mlir.producer(condition)
    if made_by is None or made_by.name != BROADCAST or mlir.shape(made_by.operands[0]) != ():
        return None
    return _create(op, [made_by.operands[0], when_true, when_false], {}, op.name)


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
    """Return the value by which the first applicable rule replaces the operation's result."""
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


_AXES = {BROADCAST: "broadcast_dimensions", TRANSPOSE: "permutation"}


def _axes(op: ir.Operation) -> list[int] | None:
    return list(ir.DenseI64ArrayAttr(op.attributes[_AXES[op.name]])) if op.name in _AXES else None


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


def _move(kind: str, source: ir.Value, old: ir.Operation, axes: list[int] | None = None) -> ir.Value:
    array = None if axes is None else ir.DenseI64ArrayAttr.get(axes, context=old.context)
    return _create(old, [source], {} if array is None else {_AXES[kind]: array}, kind)


def _create(old: ir.Operation, operands: list[ir.Value], attributes: dict, kind: str) -> ir.Value:
    return ir.Operation.create(
        kind,
        results=[old.results[0].type],
        operands=operands,
        attributes=attributes,
        ip=ir.InsertionPoint(old),
        loc=old.location,
    ).result


# Constants of one repeated value: read, created, and computed with. Only operations that IEEE 754 or two's complement
# fix to the last bit are computed; operations that a compiler may round in its own way (exponentials) stay.
_ANY: dict[str, Callable] = {
    "add": numpy.add, "subtract": numpy.subtract, "multiply": numpy.multiply, "maximum": numpy.maximum,
    "minimum": numpy.minimum, "negate": numpy.negative,
}  # fmt: skip
_FLOATS: dict[str, Callable] = {"divide": numpy.divide, "sqrt": numpy.sqrt}
_BITS: dict[str, Callable] = {
    "and": numpy.bitwise_and, "or": numpy.bitwise_or, "xor": numpy.bitwise_xor, "not": numpy.invert,
}  # fmt: skip
_COMPARE: dict[str, Callable] = {
    "EQ": numpy.equal, "NE": numpy.not_equal, "LT": numpy.less, "LE": numpy.less_equal, "GT": numpy.greater,
    "GE": numpy.greater_equal,
}  # fmt: skip


def splat(value: ir.Value) -> numpy.generic | None:
    """Return the number that fills a constant; None for other values, mixed constants, other types."""
    made_by = mlir.producer(value)
    if made_by is None or made_by.name != CONSTANT or not mlir.is_tensor(value):
        return None
    kind = NUMPY.get(mlir.element(value))
    if kind is None or not isinstance(made_by.attributes["value"], ir.DenseElementsAttr):
        return None
    dense = ir.DenseElementsAttr(made_by.attributes["value"])
    if not dense.is_splat:
        return None
    with numpy.errstate(over="ignore"):
        return kind(dense.get_splat_value().value)


def filled(op: ir.Operation, number: numpy.generic) -> ir.Value:
    """Return a new constant of the type of an operation's result, filled with the number, before the operation."""
    tensor = op.results[0].type
    kind = ir.RankedTensorType(tensor).element_type
    if isinstance(number, numpy.floating):
        attribute = ir.FloatAttr.get(kind, float(number), loc=op.location)
    else:
        attribute = ir.IntegerAttr.get(kind, int(number))
    return _create(op, [], {"value": ir.DenseElementsAttr.get_splat(tensor, attribute)}, CONSTANT)


def computed(op: ir.Operation) -> numpy.generic | None:
    """Return the number that fills the result of an operation on constants; None if it is not known."""
    numbers = [splat(operand) for operand in op.operands]
    if not numbers or any(number is None for number in numbers):
        return None
    result, function = NUMPY.get(mlir.element(op.results[0])), _function(op, numbers[0])
    if function is None or result is None:
        return None
    with numpy.errstate(all="ignore"):
        return result(function(*numbers))


def _function(op: ir.Operation, first: numpy.generic) -> Callable | None:
    name = op.name.removeprefix("stablehlo.")
    if name == "convert":
        # Out of range, the implementation defines the conversion to integers.
        exact = not isinstance(first, numpy.floating) or first == numpy.trunc(first)
        small = isinstance(first, numpy.bool_) or abs(float(first)) < 2**7
        is_to_float = mlir.element(op.results[0]).startswith("f")
        return (lambda number: number) if is_to_float or (exact and small) else None
    if name == "compare":
        text = str(op.attributes["comparison_direction"])
        total = "compare_type" in op.attributes and "TOTALORDER" in str(op.attributes["compare_type"])
        return None if total else next(f for word, f in _COMPARE.items() if f" {word}>" in text)
    if isinstance(first, numpy.bool_):
        return _BITS.get(name)
    return (_ANY | (_FLOATS if isinstance(first, numpy.floating) else _BITS)).get(name)
