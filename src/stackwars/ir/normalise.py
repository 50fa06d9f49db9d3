"""One form for the spellings of one program, so that counts compare programs and not extractors.

What is done, and by what: torch_xla's names for CHLO operations become those operations; jaxlib's
own passes legalise CHLO and composites to StableHLO; jaxlib's shape refinement, on shapes that are
all known, inlines every call and removes functions that are then dead; `simplify` folds and
merges moves and constants; equal operations are merged, unused ones and unused arguments go.
jaxlib registers no pass for the last three (`canonicalize`, `cse`, `inline`, `symbol-dce` are not
in its builds), so they are done here on its bindings.

What stays: every transpose, reshape and broadcast between two other operations, unless it moves
nothing or joins with its neighbour; no move is folded into a dot_general. Scalars that torch_xla
uploads stay arguments. The order of arguments stays too; `canonical_hash` does not depend on it.
"""

from __future__ import annotations

from functools import cache
from io import BytesIO

from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

from stackwars.ir.module import CONTROL_FLOW, ProgramError, block, callee, entry, functions, name, walk
from stackwars.ir.program_text import LEGALISE, with_chlo_erf
from stackwars.ir.queries import producer
from stackwars.ir.signature import signature
from stackwars.ir.simplify import simpler

_register_passes = cache(stablehlo.register_stablehlo_passes)
# Not merged and not dropped: they may do more than give a result, or give another one each time.
EFFECTS = {
    f"stablehlo.{kind}"
    for kind in (
        *("custom_call", "rng", "infeed", "outfeed", "send", "recv", "while", "case", "if"),
        *("all_gather", "all_reduce", "all_to_all", "collective_permute", "reduce_scatter"),
    )
}


def normalise(module: ir.Module) -> ir.Module:
    """Return a normalised copy of a program; the program itself is left as it is.

    Raises ProgramError if jaxlib cannot legalise or inline it.
    """
    context = module.context
    copy = ir.Module.parse(with_chlo_erf(str(module)), context)
    try:
        with context:
            _register_passes()
            PassManager.parse(LEGALISE).run(copy.operation)
        inlined = _jax.mlir.refine_polymorphic_shapes(
            _bytes(copy), enable_shape_assertions=False, validate_static_shapes=False
        )
    except (ir.MLIRError, ValueError, RuntimeError) as error:
        raise ProgramError(
            f"expected a program that jaxlib can legalise and inline, it stopped with: {error}"
        ) from None
    result = ir.Module.parse(inlined, context)
    calls = [callee(op) for op in walk(entry(result)) if op.name == "func.call"]
    if calls or len(functions(result)) != 1:
        names = [name(function) for function in functions(result)]
        raise ProgramError(f"expected one function without calls, got {names}, calling {calls}")
    main = entry(result)
    _settle_block(block(main), {})
    _drop_unused(block(main))
    _drop_arguments(main)
    return result


def _bytes(module: ir.Module) -> bytes:
    buffer = BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def _settle_block(body: ir.Block, known: dict[tuple, ir.Operation]) -> None:
    """Simplify and merge, from the top down: what an operation reads is settled before it."""
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
        made_by = producer(value)
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
    body = block(main)
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
