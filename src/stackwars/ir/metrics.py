"""Numbers of a program at one level: what it is made of, and how long its longest chain is.

The same counting serves the raw program and the normalised one. Each function is counted once, a
loop's body once; constants are counted apart, terminators and combiners of reductions not at all.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from stackwars.ir import counts
from stackwars.ir.canonical import canonical_hash
from stackwars.ir.counts import BROADCAST, CONSTANT, TRANSPOSE
from stackwars.ir.module import (
    CONTROL_FLOW,
    block,
    callee,
    entry,
    functions,
    is_tensor,
    name,
    shape,
    walk,
)

DESCRIPTIONS = {
    "operations": "operations without constants, terminators and combiners of reductions",
    "constants": "constant operations",
    "operations_by_kind": "operation -> how many, constants left out, most frequent first",
    "arguments": "arguments of the entry function; normalised: those that something reads",
    "scalar_arguments": "of these, those of rank 0, such as numbers that torch_xla uploads",
    "reshapes": "reshape operations; normalised: with broadcasts that only add extents of 1",
    "transposes": "transpose operations",
    "broadcasts": "broadcast_in_dim operations",
    "dots": "dot_general operations",
    "dot_ranks": "ranks of both operands, like 3x2 -> how many dots",
    "convolutions": "convolution operations",
    "batch_norm_training": "batch_norm_training operations",
    "high_level": "operation (custom_call: with its target) -> how many, of those that stand for "
    "several elementary ones: see HIGH_LEVEL",
    "layout_bytes": "bytes written by operations that compute nothing, were each run as written: "
    "see LAYOUT; reshapes write none",
    "depth": "operations, constants and arguments left out, on the longest chain that data must "
    "pass through; a call is as deep as the function, a loop one more than its deepest region",
    "canonical_hash": "hash of the program up to spelling (stackwars.ir.canonical)",
}
# Operations that StableHLO's specification, or CHLO's legalisation, writes out in elementary ones.
HIGH_LEVEL = {
    f"stablehlo.{kind}"
    for kind in (
        "batch_norm_training",
        "batch_norm_inference",
        "batch_norm_grad",
        "cbrt",
        "cholesky",
        "composite",
        "custom_call",
        "exponential_minus_one",
        "fft",
        "log_plus_one",
        "logistic",
        "tan",
        "triangular_solve",
    )
}
# They give their operands' elements in other places, repeated or left out. A reshape keeps all
# elements in their row-major order, so nothing needs to move: it is counted, but writes nothing.
LAYOUT = {
    TRANSPOSE,
    BROADCAST,
    *(f"stablehlo.{kind}" for kind in ("concatenate", "slice", "pad", "reverse", "dynamic_slice")),
}


def metrics(module: ir.Module) -> dict[str, object]:
    """The numbers of a program; DESCRIPTIONS has the keys. Raises ProgramError without an entry."""
    every = [op for function in functions(module) for op in walk(function)]
    kinds = counts.by_kind(every)
    named = counts.named(kinds)
    arguments = [a for a in block(entry(module)).arguments if is_tensor(a)]
    return {
        "operations": len(every) - named["constants"],
        "operations_by_kind": {kind: n for kind, n in kinds.items() if kind != CONSTANT},
        "arguments": len(block(entry(module)).arguments),
        "scalar_arguments": sum(shape(argument) == () for argument in arguments),
        **named,
        "dot_ranks": counts.dot_ranks(every),
        "high_level": _high_level(every, kinds),
        "layout_bytes": sum(_written(op) for op in every),
        "depth": _depth(module, entry(module).regions[0], {}, {}),
        "canonical_hash": canonical_hash(module),
    }


def _high_level(every: list[ir.Operation], kinds: dict[str, int]) -> dict[str, int]:
    found = {kind: n for kind, n in kinds.items() if kind in HIGH_LEVEL or kind.startswith("chlo.")}
    found.pop("stablehlo.custom_call", None)
    calls = counts.custom_calls(every)
    return found | {f"stablehlo.custom_call @{target}": n for target, n in calls.items()}


def _written(op: ir.Operation) -> int:
    if op.name not in LAYOUT or (op.name == BROADCAST and _only_adds_ones(op)):
        return 0
    return sum(counts.size(result) for result in op.results)


def _only_adds_ones(op: ir.Operation) -> bool:
    axes = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
    same = counts.size(op.operands[0]) == counts.size(op.results[0])
    return same and axes == sorted(axes)


def _depth(
    module: ir.Module, region: ir.Region, outer: dict[ir.Value, int], called: dict[str, int]
) -> int:
    """Longest chain of a region; `outer` has the depth of the values that it may read."""
    values, deepest = dict(outer), 0
    for part in region.blocks:
        for view in part.operations:
            op = view.operation
            before = max((values.get(value, 0) for value in op.operands), default=0)
            depth = before + _own(module, op, called)
            if op.name in CONTROL_FLOW:
                inner = {value: max(at, before) for value, at in values.items()}
                depth = max([before, *(_depth(module, r, inner, called) for r in op.regions)]) + 1
            for result in op.results:
                values[result] = depth
            deepest = max(deepest, depth)
    return deepest


def _own(module: ir.Module, op: ir.Operation, called: dict[str, int]) -> int:
    if op.name != "func.call":
        return int(op.name not in (CONSTANT, "func.return", "stablehlo.return"))
    wanted = callee(op)
    if wanted not in called:
        function = next(f for f in functions(module) if name(f) == wanted)
        called[wanted] = _depth(module, function.regions[0], {}, called)
    return called[wanted]
