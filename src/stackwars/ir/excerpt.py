"""Cut operations out of a program, found by structure, and print them in their own words.

An excerpt keeps the SSA names of the full program, so that a reader finds them there, and a comment says how many
operations are left out, and where.
"""

from __future__ import annotations

import math
import re

from jaxlib.mlir import ir

from stackwars.ir import queries
from stackwars.ir.module import (
    ProgramError,
    block,
    callee,
    element,
    functions,
    is_tensor,
    name,
    operations,
    shape,
    walk,
)
from stackwars.ir.queries import MOVES, dimensions, producer

ELEMENTS_PRINTED = 8  # constants of more elements are printed as dense<...>
_PREFIX = re.compile(r"^((?:%[\w:, %#]+ = )?)func\.(?=call |return)")


Lines = list[tuple[int, str]]
"""(Depth of nesting, line)."""


def full_program(module: ir.Module) -> Lines:
    """Return every function of the program, with its signature."""
    others = [op.operation.name for op in module.body.operations if op.operation.name != "func.func"]
    return [
        (0, text(module.operation).splitlines()[0]),
        *((1, f"// ... 1 {kind} left out") for kind in others),
        *(line for one in functions(module) for line in fragment(one, set(operations(one)), depth=1)),
        (0, "}"),
    ]


def projection(module: ir.Module) -> Lines:
    """Cut out one combined projection of attention, from the activations to the parts q, k and v.

    The rule: the first dot_general that makes three values of each one it contracts over, and whose
    result reaches three slices of a third of it through nothing but bias and MOVES; with everything
    between, and the MOVES that its operands come from. Raises ProgramError if there is none.
    """
    for function in functions(module):
        for dot in walk(function):
            if dot.name == "stablehlo.dot_general" and _is_threefold(dot):
                return _with_callees(module, function, _parts(dot))
    raise ProgramError(
        "expected a dot_general with a result three times as wide as what it contracts over, "
        "sliced in three: the program has no combined projection of attention"
    )


def normalisation(module: ir.Module) -> Lines:
    """Cut out one layer normalisation, from its input to its result after scale and shift.

    The rule: it begins with batch_norm_training or a sum (its own or that of a function it
    calls), and ends with the first add of a vector argument to something made from that; with all
    that lies between. Raises ProgramError if there is none.
    """
    for function in functions(module):
        for op in operations(function):
            if not _reduces(module, op):
                continue
            source = _unsquared(queries.origin(max(op.operands, key=_elements)))
            for shift in operations(function):
                between = _ending_in(shift, op, source)
                if between:
                    return _with_callees(module, function, between)
    raise ProgramError(
        "expected a sum or batch_norm_training whose result a vector argument is added to: "
        "the program has no layer normalisation with scale and shift"
    )


def _is_threefold(dot: ir.Operation) -> bool:
    left = shape(dot.operands[0])
    contracted = math.prod(left[axis] for axis in dimensions(dot).lhs_contracting_dimensions)
    if 3 * contracted not in shape(dot.results[0]):
        return False
    third = _elements(dot.results[0]) // 3
    slices = [op for op in _parts(dot) if op.name == "stablehlo.slice"]
    return sum(_elements(op.results[0]) == third for op in slices) == 3


def _parts(dot: ir.Operation) -> set[ir.Operation]:
    onward = MOVES | {"stablehlo.add", "stablehlo.slice"}
    selected = {dot} | queries.after(dot.results, lambda op: op.name in onward)
    operands = [operand for op in selected for operand in op.operands]
    return selected | queries.before(operands, lambda op: op.name in MOVES | {"stablehlo.constant"})


def _reduces(module: ir.Module, op: ir.Operation) -> bool:
    if op.name == "func.call":
        return any(_reduces(module, inner) for f in _called(module, op) for inner in operations(f))
    if op.name == "stablehlo.reduce":
        # A sum of numbers: not a maximum, and not the bounds check of a gather.
        body = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
        return body[0] == "stablehlo.add" and element(op.operands[0]).startswith(("f", "bf"))
    return op.name == "stablehlo.batch_norm_training"


def _unsquared(value: ir.Value) -> ir.Value:
    """Return x if the value is x times x, for a variance may be summed before the mean; else the value."""
    made_by = producer(value)
    if made_by is None or made_by.name != "stablehlo.multiply":
        return value
    left, right = made_by.operands
    return queries.origin(left) if left == right else value


def _ending_in(shift: ir.Operation, start: ir.Operation, source: ir.Value) -> set[ir.Operation]:
    """Return the operations from source to shift; none if this is no shift of a result of `start`."""
    if shift.name != "stablehlo.add" or not any(map(queries.is_vector_argument, shift.operands)):
        return set()
    between = {shift} | queries.before(shift.operands, lambda op: True, stop=source)
    return between if start in between else set()


def _called(module: ir.Module, call: ir.Operation) -> list[ir.Operation]:
    return [function for function in functions(module) if name(function) == callee(call)]


def _with_callees(module: ir.Module, function: ir.Operation, chosen: set[ir.Operation]) -> Lines:
    """Return the chosen operations of a function, then every function that they call, in full."""
    result, seen = fragment(function, chosen), {name(function)}
    waiting = [op for op in operations(function) if op in chosen]
    while waiting:
        op = waiting.pop(0)
        for called in _called(module, op) if op.name == "func.call" else []:
            if name(called) not in seen:
                seen.add(name(called))
                result += fragment(called, set(operations(called)))
                waiting.extend(operations(called))
    return result


def _elements(value: ir.Value) -> int:
    return math.prod(shape(value)) if is_tensor(value) else 0


def fragment(function: ir.Operation, chosen: set[ir.Operation], depth: int = 0) -> Lines:
    """Return the chosen operations of a function, and its return if they make all that it returns."""
    read = [operand for op in chosen for operand in op.operands]
    body, skipped = [], 0
    for op in operations(function):
        if op in chosen or (op.name == "func.return" and _made_by(op) <= chosen):
            body.extend([left_out(skipped)] if skipped else [])
            body.extend(text(op).splitlines())
            skipped = 0
        else:
            skipped += op.name != "func.return"
    body.extend([left_out(skipped)] if skipped else [])
    return [(depth, _head(function, read)), *((depth + 1, line) for line in body), (depth, "}")]


def _made_by(op: ir.Operation) -> set[ir.Operation]:
    return {made_by for value in op.operands if (made_by := producer(value)) is not None}


def _head(function: ir.Operation, read: list[ir.Value]) -> str:
    """Return the signature; arguments that nothing shown reads become one `...`."""
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    values = list(block(function).arguments)
    arguments = _with_attributes(function, "arg_attrs", [f"{a.get_name()}: {a.type}" for a in values])
    shown = [part for part, a in zip(arguments, values, strict=True) if any(a == v for v in read)]
    if len(shown) < len(arguments):
        shown.append("...")
    results = _with_attributes(function, "res_attrs", [str(result) for result in signature.results])
    returned = ", ".join(results)
    if len(results) != 1 or "{" in returned:
        returned = f"({returned})"
    attributes = function.attributes
    visibility = ""
    if "sym_visibility" in attributes:
        visibility = ir.StringAttr(attributes["sym_visibility"]).value + " "
    return f"func.func {visibility}@{name(function)}({', '.join(shown)}) -> {returned} {{"


def _with_attributes(function: ir.Operation, key: str, texts: list[str]) -> list[str]:
    if key not in function.attributes:
        return texts
    attributes = [str(a) for a in ir.ArrayAttr(function.attributes[key])]
    pairs = zip(texts, attributes, strict=True)
    return [part if extra == "{}" else f"{part} {extra}" for part, extra in pairs]


def left_out(count: int) -> str:
    """Return the comment that stands for operations which are not shown."""
    return f"// ... {count} operation{'' if count == 1 else 's'} left out"


def text(op: ir.Operation) -> str:
    """Return an operation as the frameworks write it, large constants elided."""
    printed = op.get_asm(large_elements_limit=ELEMENTS_PRINTED)
    # Within a function `call` and `return` need no prefix, and the frameworks write none.
    return _PREFIX.sub(r"\1", printed).replace("dense_resource<__elided__>", "dense<...>")
