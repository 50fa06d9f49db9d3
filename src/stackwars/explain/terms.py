"""How many terms an operation sums, from its generic text: for limits of rounding and for floating-point operations."""

from __future__ import annotations

import re
from math import prod

from stackwars.explain.graph import Graph, Op, shape, size

_CONTRACTED = re.compile(r"lhs_contracting_dimensions = \[([\d, ]*)\]")
_KERNEL_AXES = re.compile(r"\]x\[([^\]]*)\]->")
_WINDOW = re.compile(r"window_dimensions = array<i64: ([\d, ]+)>")


def sum_terms(op: Op, graph: Graph) -> int:
    """Return how many terms each element of an operation's result sums; 1 if it sums none."""
    if not op.operands:
        return 1
    first, text = shape(graph.types[op.operands[0]]), op.form()
    if op.name == "stablehlo.dot_general" and (found := _CONTRACTED.search(text)):
        return prod(first[int(axis)] for axis in found[1].split(",") if axis.strip())
    if op.name == "stablehlo.convolution" and (found := _KERNEL_AXES.search(text)):
        kernel = shape(graph.types[op.operands[1]])
        outputs = kernel[[axis.strip() for axis in found[1].split(",")].index("o")]
        return max(1, prod(kernel) // max(1, outputs))
    if op.name == "stablehlo.reduce":
        return max(1, prod(first) // max(1, size(graph.types[op.results[0]])))
    if op.name == "stablehlo.reduce_window" and (found := _WINDOW.search(text)):
        return prod(int(extent) for extent in found[1].split(","))
    return 1


def flops(graph: Graph, op: Op) -> int:
    """Return the floating-point operations of a product or a convolution; 0 of any other operation."""
    if op.name not in ("stablehlo.dot_general", "stablehlo.convolution"):
        return 0
    return 2 * size(graph.types[op.results[0]]) * sum_terms(op, graph)
