"""A program as a small graph to draw.

Runs in the jax environment. The graph is plain data, so that it can be drawn where there are no
MLIR bindings. A scalar constant, one that fills a tensor with one value, and arithmetic on those
alone are written into the label of what reads them; `ir.collapse` then joins what reads as one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxlib.mlir import ir

from stackwars.ir import label, module
from stackwars.ir.collapse import collapse
from stackwars.ir.module import ProgramError
from stackwars.ir.normalise import normalise

SCHEMA = 1


class _Graph:
    """Nodes and edges of one function; `sources` has what a value comes from.

    A source is a node's index, or the text of a constant that is folded into its readers.
    """

    def __init__(self, function: ir.Operation) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, int]] = []
        self.sources: dict[ir.Value, int | str] = {}
        for at, argument in enumerate(module.block(function).arguments):
            self.sources[argument] = self._node("argument", f"arg{at}", argument)
        for op in module.operations(function):
            if op.name == "func.return":
                self._results(op)
            else:
                self._operation(op)

    def _results(self, op: ir.Operation) -> None:
        for at, value in enumerate(op.operands):
            text = "result" if len(op.operands) == 1 else f"result{at}"
            source = self.sources[value]
            folded = f" = {source}" if isinstance(source, str) else ""
            self._read([value], self._node("result", text + folded, value))

    def _operation(self, op: ir.Operation) -> None:
        reads = _reads(op)
        sources = [self.sources[value] for value in reads]
        folded = label.constant(op, sources)
        if folded is not None:
            self.sources[op.results[0]] = folded
            return
        node = self._node(label.kind(op), label.label(op, sources), *op.results)
        self.nodes[node]["ordered"] = label.ordered(op)
        self._read(reads, node)
        for value in op.results:
            self.sources[value] = node

    def _node(self, kind: str, text: str, *values: ir.Value) -> int:
        shapes = [label.shape(value) for value in values]
        # Of several results (batch_norm_training has three) those that nothing reads stay unsaid.
        read = [s for s, v in zip(shapes, values, strict=True) if any(True for _ in v.uses)]
        line = {"operation": text, "shape": ", ".join(read or shapes[:1])}
        self.nodes.append({"id": len(self.nodes), "kind": kind, "lines": [line], "ordered": False})
        return len(self.nodes) - 1

    def _read(self, values: list[ir.Value], node: int) -> None:
        seen = set()
        for at, value in enumerate(values):
            source = self.sources[value]
            if isinstance(source, int) and source not in seen:
                seen.add(source)
                self.edges.append({"from": source, "to": node, "operand": at + 1})


def _reads(op: ir.Operation) -> list[ir.Value]:
    """The operands, then what the bodies of a loop or a branch read from outside of them."""
    values = list(op.operands)
    own = {value for region in op.regions for value in _defined(region)}
    for region in op.regions:
        for inner in _nested(region):
            values.extend(v for v in inner.operands if v not in own and v not in values)
    return values


def _nested(region: ir.Region) -> list[ir.Operation]:
    found = []
    for part in region.blocks:
        for op in part.operations:
            found.append(op.operation)
            found.extend(i for inner in op.operation.regions for i in _nested(inner))
    return found


def _defined(region: ir.Region) -> list[ir.Value]:
    inside = [value for op in _nested(region) for value in op.results]
    regions = [region, *(inner for op in _nested(region) for inner in op.regions)]
    return inside + [value for r in regions for part in r.blocks for value in part.arguments]


def graph(parsed: ir.Module) -> dict[str, Any]:
    """Nodes and edges of a program without calls: `normalise` its module first.

    A node has an id, a kind (label.KINDS), `lines` (operation and shape of its result, like
    128x64x256; several where `collapse` joined a chain) and `ordered`, whether the order of its
    operands matters. An edge has from, to and the operand's place, counted from 1. Raises
    ProgramError where there is no function main or a call is left in it.
    """
    function = module.entry(parsed)
    if any(op.name == "func.call" for op in module.walk(function)):
        raise ProgramError("expected a program without calls, got one with; normalise it first")
    built = _Graph(function)
    return collapse({"nodes": built.nodes, "edges": built.edges})


def described(path: Path) -> dict[str, Any]:
    """The graph of a file with `status` "ok", or the status and the reason why there is none.

    Raises OSError where the file cannot be read.
    """
    text = module.read(path)
    reason = module.missing(text)
    if reason is not None:
        return {"status": "no program", "reason": reason}
    try:
        return {"status": "ok"} | graph(normalise(module.parse(text)))
    except ProgramError as error:
        return {"status": "unreadable", "reason": str(error)}
