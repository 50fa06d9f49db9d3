"""What a program is made of: counts and choices of a front end, as one flat dict per program.

Everything is counted at the raw level: the text as the framework gave it, each function once
however often it is called, loops once, without terminators and the combiners inside reductions. Raw
counts compare what the front ends hand over; they do not yet say how much work is left in it.
"""

from __future__ import annotations

import hashlib

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from stackwars.ir import counts
from stackwars.ir import module as program
from stackwars.ir.counts import CONVOLUTION, DOT
from stackwars.ir.module import ProgramError, element, shape

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
    kinds = counts.by_kind(every)
    dots = [op for op in every if op.name == DOT]
    products = dots + [op for op in every if op.name == CONVOLUTION]
    results = list(program.operations(main)[-1].operands)
    return {
        "operations": len(every),
        "operations_by_kind": kinds,
        "arguments": len(arguments),
        "scalar_arguments": sum(shape(a) == () for a in arguments if program.is_tensor(a)),
        "argument_bytes": sum(counts.size(a) for a in arguments if program.is_tensor(a)),
        "functions": len(functions),
        "private_functions": [program.name(f) for f in functions if f != main],
        "calls": kinds.get("func.call", 0),
        "dot_ranks": counts.dot_ranks(dots),
        "dots_flattened": sum(counts.merges(dot, batching=False) for dot in dots),
        "dots_batch_merged": sum(counts.merges(dot, batching=True) for dot in dots),
        "dots_transposed": sum(counts.reads(dot, counts.TRANSPOSE) for dot in dots),
        "dot_dtypes": sorted({t for op in products for t in _types(op)}),
        "precision": "+".join(sorted({p for op in products for p in precision(op)})),
        "dtype": "+".join(sorted({t for op in products for t in _types(op)}))
        or "+".join(sorted({element(result) for result in results})),
        "converts": kinds.get("stablehlo.convert", 0),
        "reductions": kinds.get("stablehlo.reduce", 0),
        "batch_norm_inference": kinds.get("stablehlo.batch_norm_inference", 0),
        "chlo": sum(count for kind, count in kinds.items() if kind.startswith("chlo.")),
        "custom_calls": counts.custom_calls(every),
        **counts.named(kinds),
    }


def precision(op: ir.Operation) -> list[str]:
    """Precision of each operand of a dot_general or convolution; DEFAULT where it says nothing."""
    if "precision_config" not in op.attributes:
        return ["DEFAULT"]
    listed = ir.ArrayAttr(op.attributes["precision_config"])
    return [stablehlo.PrecisionAttr(attribute).value for attribute in listed] or ["DEFAULT"]


def _types(op: ir.Operation) -> list[str]:
    return [element(value) for value in [*op.operands, *op.results]]
