"""Cut the operations of interest out of a program: found by structure, never by name or line."""

from __future__ import annotations

import math

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from stackwars.ir import dataflow
from stackwars.ir.dataflow import MOVES
from stackwars.ir.fragment import Excerpt, Function, fragment, text
from stackwars.ir.module import (
    ProgramError,
    callee,
    element,
    functions,
    is_tensor,
    name,
    operations,
    shape,
    walk,
)


def whole(module: ir.Module) -> Excerpt:
    """Every function of the program, with its signature."""
    head = text(module.operation).splitlines()[:1]
    for op in module.body.operations:
        if op.operation.name != "func.func":
            head.append(f"// ... 1 {op.operation.name} left out")
    found = [fragment(function, set(operations(function))) for function in functions(module)]
    return Excerpt(head, found)


def projection(module: ir.Module) -> Excerpt:
    """From activations to the parts q, k and v of one combined projection of attention.

    The rule: the first dot_general that makes three values of each one it contracts over, and whose
    result reaches three slices of a third of it through nothing but bias and MOVES; with everything
    between, and the MOVES that its operands come from. Raises ProgramError where there is none.
    """
    for function in functions(module):
        for dot in walk(function):
            if dot.name == "stablehlo.dot_general" and _is_threefold(dot):
                return Excerpt([], _with_callees(module, function, _parts(dot)))
    raise ProgramError(
        "expected a dot_general with a result three times as wide as what it contracts over, "
        "sliced in three: the program has no combined projection of attention"
    )


def normalisation(module: ir.Module) -> Excerpt:
    """One layer normalisation, from its input to its result after scale and shift.

    The rule: it begins with batch_norm_training or a sum (its own or that of a function it
    calls), and ends with the first add of a vector argument to something made from that; with all
    that lies between. Raises ProgramError where there is none.
    """
    for function in functions(module):
        for op in operations(function):
            if not _reduces(module, op):
                continue
            source = _unsquared(dataflow.origin(max(op.operands, key=_elements)))
            for shift in operations(function):
                between = _ending_in(shift, op, source)
                if between:
                    return Excerpt([], _with_callees(module, function, between))
    raise ProgramError(
        "expected a sum or batch_norm_training whose result a vector argument is added to: "
        "the program has no layer normalisation with scale and shift"
    )


def _is_threefold(dot: ir.Operation) -> bool:
    dimensions = stablehlo.DotDimensionNumbers(dot.attributes["dot_dimension_numbers"])
    left = shape(dot.operands[0])
    contracted = math.prod(left[axis] for axis in dimensions.lhs_contracting_dimensions)
    if 3 * contracted not in shape(dot.results[0]):
        return False
    third = _elements(dot.results[0]) // 3
    slices = [op for op in _parts(dot) if op.name == "stablehlo.slice"]
    return sum(_elements(op.results[0]) == third for op in slices) == 3


def _parts(dot: ir.Operation) -> set[ir.Operation]:
    onward = MOVES | {"stablehlo.add", "stablehlo.slice"}
    found = {dot} | dataflow.after(dot.results, lambda op: op.name in onward)
    operands = [operand for op in found for operand in op.operands]
    return found | dataflow.before(operands, lambda op: op.name in MOVES | {"stablehlo.constant"})


def _reduces(module: ir.Module, op: ir.Operation) -> bool:
    if op.name == "func.call":
        return any(_reduces(module, inner) for f in _called(module, op) for inner in operations(f))
    if op.name == "stablehlo.reduce":
        # A sum of numbers: not a maximum, and not the bounds check of a gather.
        body = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
        return body[0] == "stablehlo.add" and element(op.operands[0]).startswith(("f", "bf"))
    return op.name == "stablehlo.batch_norm_training"


def _unsquared(value: ir.Value) -> ir.Value:
    """x where the value is x times x: a variance may be summed before the mean."""
    made_by = dataflow.producer(value)
    if made_by is None or made_by.name != "stablehlo.multiply":
        return value
    left, right = made_by.operands
    return dataflow.origin(left) if left == right else value


def _ending_in(shift: ir.Operation, start: ir.Operation, source: ir.Value) -> set[ir.Operation]:
    """Operations from source to shift; empty where this is no shift of what `start` made."""
    if shift.name != "stablehlo.add" or not any(map(dataflow.is_vector_argument, shift.operands)):
        return set()
    between = {shift} | dataflow.before(shift.operands, lambda op: True, stop=source)
    return between if start in between else set()


def _called(module: ir.Module, call: ir.Operation) -> list[ir.Operation]:
    return [function for function in functions(module) if name(function) == callee(call)]


def _with_callees(module: ir.Module, function: ir.Operation, kept: set[ir.Operation]) -> list[Function]:
    """The kept operations of a function, then every function that they call, whole."""
    result, seen = [fragment(function, kept)], {name(function)}
    waiting = [op for op in operations(function) if op in kept]
    while waiting:
        op = waiting.pop(0)
        for called in _called(module, op) if op.name == "func.call" else []:
            if name(called) not in seen:
                seen.add(name(called))
                result.append(fragment(called, set(operations(called))))
                waiting.extend(operations(called))
    return result


def _elements(value: ir.Value) -> int:
    return math.prod(shape(value)) if is_tensor(value) else 0
