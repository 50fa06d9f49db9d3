"""What a program is made of: counts and choices of a front end, as one flat dict per program.

Everything is counted at the raw level: the text as the framework gave it, each function once
however often it is called, loops once, without terminators and the combiners inside reductions. Raw
counts compare what the front ends hand over; they do not yet say how much work is left in it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from stackwars.ir import module as program
from stackwars.ir.dataflow import producer
from stackwars.ir.module import ProgramError, element, shape

DOT, CONVOLUTION = "stablehlo.dot_general", "stablehlo.convolution"
DESCRIPTIONS = {
    "status": "ok | no program (its cell gave none) | unreadable (the bindings refuse the text)",
    "reason": "why there is no program or it is unreadable; only then",
    "level": "raw: as the framework gave it",
    "sha256": "digest of the text",
    "text_bytes": "size of the text",
    "operations": "operations in all functions, each function once",
    "operations_by_kind": "operation -> how many, most frequent first",
    "arguments": "arguments of main",
    "scalar_arguments": "of these, those of rank 0",
    "argument_bytes": "size of main's arguments together",
    "functions": "functions, main included",
    "private_functions": "names of the functions other than main",
    "calls": "func.call operations",
    "dots": "dot_general operations",
    "dot_ranks": "ranks of both operands, like 3x2 -> how many dots",
    "dots_flattened": "dots without batching dimensions that read a reshape which merges leading "
    "dimensions, such as [B,S,E] to [B*S,E], into a dimension that is not contracted",
    "dots_batch_merged": "dots that read such a reshape into their batching dimension",
    "dots_transposed": "dots that read a transpose directly",
    "dot_dtypes": "element types of operands and result of the dots and convolutions",
    "precision": "precision read back from dots and convolutions, joined by +; empty without any",
    "dtype": "element type read back: of the dots and convolutions, or else of main's results",
    "convolutions": "convolution operations",
    "reshapes": "reshape operations",
    "transposes": "transpose operations",
    "broadcasts": "broadcast_in_dim operations",
    "constants": "constant operations",
    "converts": "convert operations",
    "reductions": "reduce operations",
    "batch_norm_training": "batch_norm_training operations (layer normalisation in disguise)",
    "batch_norm_inference": "batch_norm_inference operations",
    "chlo": "operations of the CHLO dialect, which are not legalised yet",
    "custom_calls": "custom_call target -> how many",
}


def facts(text: str) -> dict[str, object]:
    """The facts of a program's text; DESCRIPTIONS has the keys. Never raises for a bad program.

    A text without a program, or one that cannot be read, has only status and reason.
    """
    reason = program.missing(text)
    if reason is not None:
        return {"status": "no program", "reason": reason}
    try:
        module = program.parse(text)
        counted = _facts(module)
    except ProgramError as error:
        return {"status": "unreadable", "reason": str(error)}
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {
        "status": "ok",
        "level": "raw",
        "sha256": digest,
        "text_bytes": len(text.encode()),
    } | counted


def _facts(module: ir.Module) -> dict[str, object]:
    functions = program.functions(module)
    main = program.entry(module)
    arguments = list(program.block(main).arguments)
    every = [op for function in functions for op in program.walk(function)]
    kinds = Counter(op.name for op in every)
    dots = [op for op in every if op.name == DOT]
    products = dots + [op for op in every if op.name == CONVOLUTION]
    results = list(program.operations(main)[-1].operands)
    return {
        "operations": len(every),
        "operations_by_kind": dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
        "arguments": len(arguments),
        "scalar_arguments": sum(shape(a) == () for a in arguments if program.is_tensor(a)),
        "argument_bytes": sum(_bytes(a) for a in arguments if program.is_tensor(a)),
        "functions": len(functions),
        "private_functions": [program.name(f) for f in functions if f != main],
        "calls": kinds["func.call"],
        "dots": len(dots),
        "dot_ranks": dict(sorted(Counter(_ranks(dot) for dot in dots).items())),
        "dots_flattened": sum(_merges(dot, batching=False) for dot in dots),
        "dots_batch_merged": sum(_merges(dot, batching=True) for dot in dots),
        "dots_transposed": sum(_reads(dot, "stablehlo.transpose") for dot in dots),
        "dot_dtypes": sorted({t for op in products for t in _types(op)}),
        "precision": "+".join(sorted({p for op in products for p in precision(op)})),
        "dtype": "+".join(sorted({t for op in products for t in _types(op)}))
        or "+".join(sorted({element(result) for result in results})),
        "convolutions": kinds[CONVOLUTION],
        "reshapes": kinds["stablehlo.reshape"],
        "transposes": kinds["stablehlo.transpose"],
        "broadcasts": kinds["stablehlo.broadcast_in_dim"],
        "constants": kinds["stablehlo.constant"],
        "converts": kinds["stablehlo.convert"],
        "reductions": kinds["stablehlo.reduce"],
        "batch_norm_training": kinds["stablehlo.batch_norm_training"],
        "batch_norm_inference": kinds["stablehlo.batch_norm_inference"],
        "chlo": sum(count for kind, count in kinds.items() if kind.startswith("chlo.")),
        "custom_calls": dict(sorted(Counter(_targets(every)).items())),
    }


def precision(op: ir.Operation) -> list[str]:
    """Precision of each operand of a dot_general or convolution; DEFAULT where it says nothing."""
    if "precision_config" not in op.attributes:
        return ["DEFAULT"]
    listed = ir.ArrayAttr(op.attributes["precision_config"])
    return [stablehlo.PrecisionAttr(attribute).value for attribute in listed] or ["DEFAULT"]


def _types(op: ir.Operation) -> list[str]:
    return [element(value) for value in [*op.operands, *op.results]]


def _ranks(dot: ir.Operation) -> str:
    return "x".join(str(len(shape(operand))) for operand in dot.operands)


def _reads(dot: ir.Operation, kind: str) -> bool:
    made_by = [producer(operand) for operand in dot.operands]
    return any(op is not None and op.name == kind for op in made_by)


def _merges(dot: ir.Operation, batching: bool) -> bool:
    """Whether an operand is a reshape that merged leading dimensions; of (un)batched dots only."""
    numbers = stablehlo.DotDimensionNumbers(dot.attributes["dot_dimension_numbers"])
    if bool(numbers.lhs_batching_dimensions) != batching:
        return False
    contracting = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    return any(
        0 not in contracted and _merges_leading(producer(operand))
        for operand, contracted in zip(dot.operands, contracting, strict=True)
    )


def _merges_leading(op: ir.Operation | None) -> bool:
    if op is None or op.name != "stablehlo.reshape":
        return False
    before, after = shape(op.operands[0]), shape(op.results[0])
    # Dropping an extent of 1 moves no dimension into another: that merges nothing.
    wide = [extent for extent in before if extent != 1]
    return (
        bool(after)
        and len(after) < len(wide)
        and any(math.prod(wide[:count]) == after[0] for count in range(2, len(wide) + 1))
    )


def _bytes(value: ir.Value) -> int:
    """Bytes of a dense array of the value's type; types of less than a byte take one."""
    name = element(value)
    bits = re.search(r"\d+", name)
    parts = 2 if name.startswith("complex") else 1
    return math.prod(shape(value)) * parts * max(8, int(bits[0]) if bits else 8) // 8


def _targets(operations: list[ir.Operation]) -> list[str]:
    return [
        ir.StringAttr(op.attributes["call_target_name"]).value
        for op in operations
        if op.name == "stablehlo.custom_call"
    ]
