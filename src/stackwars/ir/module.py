"""A StableHLO program as MLIR operations: parse it, walk it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

from stackwars.ir.program_text import missing_reason

# Their bodies are programs of their own; any other region is the scalar combiner of a reduction.
CONTROL_FLOW = {"stablehlo.while", "stablehlo.case", "stablehlo.if"}


class ProgramError(ValueError):
    """The text is no StableHLO program that this version of the bindings can read."""


@cache
def _context() -> ir.Context:
    # What jax's own make_ir_context() registers, without importing jax (a private function there).
    context, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for register in (
        stablehlo.register_dialect,
        chlo.register_dialect,
        mhlo.register_mhlo_dialect,
        sdy.register_dialect,
    ):
        register(context)
    return context


def parse(text: str) -> ir.Module:
    """Return the program of a text in MLIR's assembly form.

    Raises ProgramError with the parser's first complaint, or with the reason in a file that holds
    no program.
    """
    reason = missing_reason(text)
    if reason is not None:
        raise ProgramError(f"expected a StableHLO program, got a file that says why there is none: {reason}")
    try:
        return ir.Module.parse(text, _context())
    except ir.MLIRError as error:
        complaint = next((d.message for d in error.error_diagnostics), str(error))
        raise ProgramError(
            f"expected StableHLO text, the parser stopped with: {complaint}. The text begins with "
            f"{text[:60]!r}; fix: measure the cell that wrote it again"
        ) from None


def functions(module: ir.Module) -> list[ir.Operation]:
    """Return all functions, in the text's order."""
    return [op.operation for op in module.body.operations if op.operation.name == "func.func"]


def entry(module: ir.Module) -> ir.Operation:
    """Return the function that a caller sees: `main`, or the only one. Raises ProgramError without it."""
    candidates = functions(module)
    for function in candidates:
        if name(function) == "main" or len(candidates) == 1:
            return function
    names = [name(function) for function in candidates]
    raise ProgramError(f"expected a function called main, got functions called {names}")


def name(function: ir.Operation) -> str:
    """Return a function's name, without the @."""
    return ir.StringAttr(function.attributes["sym_name"]).value


def block(function: ir.Operation) -> ir.Block:
    """Return the one block of a function: its arguments and its operations."""
    return function.regions[0].blocks[0]


def operations(function: ir.Operation) -> list[ir.Operation]:
    """Return a function's operations in program order, without what is nested in them."""
    return [op.operation for op in block(function).operations]


def walk(function: ir.Operation) -> Iterator[ir.Operation]:
    """Return operations in order, with those in loops and branches; no combiners, no terminators."""
    yield from _walk(function.regions)


def _walk(regions: ir.RegionSequence) -> Iterator[ir.Operation]:
    for region in regions:
        for part in region.blocks:
            for op in part.operations:
                operation = op.operation
                if operation.name in ("func.return", "stablehlo.return"):
                    continue
                yield operation
                if operation.name in CONTROL_FLOW:
                    yield from _walk(operation.regions)


def callee(call: ir.Operation) -> str:
    """Return the name of the function that a func.call calls, without the @."""
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def shape(value: ir.Value) -> tuple[int, ...]:
    """Return the extents of a tensor value; () for a scalar. Raises ProgramError for any other type."""
    return tuple(_tensor(value).shape)


def element(value: ir.Value) -> str:
    """Return the element type of a tensor value as StableHLO writes it: f32, bf16, i32."""
    return str(_tensor(value).element_type)


def is_tensor(value: ir.Value) -> bool:
    """Return whether the value is a tensor of known rank, and not a token or a tuple."""
    return isinstance(ir.Type(value.type).maybe_downcast(), ir.RankedTensorType)


def _tensor(value: ir.Value) -> ir.RankedTensorType:
    if not is_tensor(value):
        raise ProgramError(f"expected a tensor of known rank, {value.get_name()} is a {value.type}")
    return ir.RankedTensorType(value.type)
