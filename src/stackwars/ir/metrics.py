"""Count what a program consists of, and measure its longest chain of operations.

The same counts serve the raw program and the normalised one. Each function and each loop's body counts once;
constants, terminators and the combiners of reductions do not count.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from jaxlib.mlir import ir

from stackwars.core.mlir import (
    BROADCAST,
    CONSTANT,
    CONTROL_FLOW,
    RESHAPE,
    TRANSPOSE,
    callee,
    element,
    entry,
    functions,
    name,
    shape,
    walk,
)
from stackwars.ir.canonical import canonical_hash

# These give their operands' elements in other places, repeated or left out. A reshape keeps the row-major order of
# all elements, so nothing needs to move: it is counted, but writes nothing.
LAYOUT = {
    TRANSPOSE,
    BROADCAST,
    *(f"stablehlo.{kind}" for kind in ("concatenate", "slice", "pad", "reverse", "dynamic_slice")),
}


def metrics(module: ir.Module) -> dict[str, object]:
    """Return the numbers of a program, by the names that columns.yaml describes.

    :raises ProgramError: if the program has no entry.
    """
    every = [op for function in functions(module) for op in walk(function)]
    kinds = Counter(op.name for op in every if op.name != CONSTANT)
    return {
        "operations": sum(kinds.values()),
        "operations_by_kind": dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
        "reshapes": kinds.get(RESHAPE, 0),
        "transposes": kinds.get(TRANSPOSE, 0),
        "broadcasts": kinds.get(BROADCAST, 0),
        "layout_bytes": sum(_written(op) for op in every),
        "depth": _depth(module, entry(module).regions[0], {}, {}),
        "canonical_hash": canonical_hash(module),
    }


def _written(op: ir.Operation) -> int:
    if op.name not in LAYOUT or (op.name == BROADCAST and _only_adds_ones(op)):
        return 0
    return sum(_size(result) for result in op.results)


def _size(value: ir.Value) -> int:
    """Return the bytes of a dense array of the value's type; types of less than a byte take one."""
    name = element(value)
    bits = re.search(r"\d+", name)
    parts = 2 if name.startswith("complex") else 1
    return math.prod(shape(value)) * parts * max(8, int(bits[0]) if bits else 8) // 8


def _only_adds_ones(op: ir.Operation) -> bool:
    axes = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
    same = _size(op.operands[0]) == _size(op.results[0])
    return same and axes == sorted(axes)


def _depth(module: ir.Module, region: ir.Region, outer: dict[ir.Value, int], called: dict[str, int]) -> int:
    """Return the longest chain of a region, in operations. outer: the depth of the values that it may read."""
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
