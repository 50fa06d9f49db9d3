"""Hash the computation of a program or an operation: equal for two that differ only in spelling.

The hash does not depend on names, locations, layouts, the order of arguments, the order of operations that their data
leaves free, or the order of the operands of commutative operations. It depends on constants, shapes, element types,
dimension numbers, precision, how operations are connected, and the order of results.

Every value gets a colour, a hash of the operation that makes it and of the colours that it reads; every argument gets a
hash of its type and of all its uses. Both are refined alternately until no more arguments differ (colour refinement,
after Weisfeiler and Leman). If arguments are still alike, each of them is singled out once and the minimum hash is
taken. Isomorphic programs hash the same; others differ, except for collisions of 128 bits, within BUDGET refinements.
Beyond, programs that refinement alone cannot distinguish share a hash. Normalise programs first: they are compared as
they are, and repeated operations count.

`signature` describes one operation without its operands, and without attributes that do not affect the result:
layouts, the names that an extractor notes, and attributes that are written out with their default value.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from jaxlib.mlir import ir

from stackwars.core import mlir
from stackwars.core.mlir import ProgramError

BUDGET = 200  # refinements; a program without interchangeable arguments needs one


@dataclass(frozen=True)
class Node:
    """An operation: its signature, the values it reads, whether their order is free, and its results."""

    does: str
    reads: list[int]
    free: bool
    makes: list[int]


class _OverBudget(Exception):
    pass


def canonical_hash(module: ir.Module) -> str:
    """Return a hash of the entry function with all that it calls: 32 hexadecimal digits.

    Raises ProgramError for a module without an entry, or with regions of several blocks.
    """
    kinds, nodes = _dataflow(module, mlir.entry(module), {})
    start = [digest("argument", kind) for kind in kinds]
    try:
        return _search(nodes, start, [BUDGET])
    except _OverBudget:
        return digest("unresolved", _refined(nodes, start)[1])


def _dataflow(
    module: ir.Module, function: ir.Operation, called: dict[str, str]
) -> tuple[list[str], list[Node]]:
    """Return the types of a function's arguments, which are values 0, 1, ..., and its operations in order.

    The last operation is the return.
    """
    arguments = list(mlir.block(function).arguments)
    number = {argument: place for place, argument in enumerate(arguments)}
    nodes = []
    for op in mlir.operations(function):
        does, reads, free = signature(op)
        if op.name == "func.call":
            does = _called(module, mlir.callee(op), called)
        number |= {result: len(number) + place for place, result in enumerate(op.results)}
        makes = [number[result] for result in op.results]
        nodes.append(Node(does, [number[value] for value in reads], free, makes))
    return [str(argument.type) for argument in arguments], nodes


def _called(module: ir.Module, wanted: str, called: dict[str, str]) -> str:
    """Return a hash of a called function, whose arguments are known by their position."""
    if wanted not in called:
        function = next(f for f in mlir.functions(module) if mlir.name(f) == wanted)
        kinds, nodes = _dataflow(module, function, called)
        start = [digest("argument", kind, index) for index, kind in enumerate(kinds)]
        called[wanted] = digest("call", _refined(nodes, start)[1])
    return called[wanted]


def _search(nodes: list[Node], colours: list[str], left: list[int]) -> str:
    """Return the minimum hash over the ways to single out arguments that refinement leaves alike."""
    if left[0] == 0:
        raise _OverBudget
    left[0] -= 1
    colours, hashed = _refined(nodes, colours)
    alike = [colour for colour, count in Counter(colours).items() if count > 1]
    if not alike:
        return hashed
    members = [index for index, colour in enumerate(colours) if colour == min(alike)]
    singled = ([*colours[:at], digest("chosen", colours[at]), *colours[at + 1 :]] for at in members)
    return min(_search(nodes, single, left) for single in singled)


def _refined(nodes: list[Node], colours: list[str]) -> tuple[list[str], str]:
    """Refine the colours of the arguments as far as they differ; return them and their hash."""
    while True:
        values, does = _downwards(nodes, colours)
        uses, works = _upwards(nodes, does)
        finer = [digest("argument", colour, sorted(uses[index])) for index, colour in enumerate(colours)]
        if len(set(finer)) == len(set(colours)):
            results = [values[index] for index in nodes[-1].reads]
            return colours, digest(results, sorted(works), sorted(finer))
        colours = finer


def _downwards(nodes: list[Node], colours: list[str]) -> tuple[dict[int, str], list[str]]:
    """Return the colour of every value and of every operation, from the values that they are computed from."""
    values = dict(enumerate(colours))
    does = []
    for node in nodes:
        read = [values[index] for index in node.reads]
        colour = digest(node.does, sorted(read) if node.free else read)
        does.append(colour)
        for place, index in enumerate(node.makes):
            values[index] = digest(colour, place)
    return values, does


def _upwards(nodes: list[Node], does: list[str]) -> tuple[dict[int, list[str]], list[str]]:
    """Return the colour of the uses of every value, and of every operation with all its uses."""
    uses: dict[int, list[str]] = defaultdict(list)
    works = []
    for node, colour in zip(reversed(nodes), reversed(does), strict=True):
        work = digest(colour, [sorted(uses[index]) for index in node.makes])
        works.append(work)
        for place, index in enumerate(node.reads):
            uses[index].append(digest(work, "any" if node.free else place))
    return uses, works


COMMUTATIVE = {f"stablehlo.{kind}" for kind in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")}
_DEFAULTS = {
    **dict.fromkeys(
        ("window_strides", "base_dilations", "window_dilations", "lhs_dilation", "rhs_dilation"), "1"
    ),
    "padding": "0",
    **dict.fromkeys(("window_reversal", "indices_are_sorted", "unique_indices", "has_side_effect"), "false"),
}


def digest(*parts: object) -> str:
    return hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=16).hexdigest()


def signature(op: ir.Operation) -> tuple[str, list[ir.Value], bool]:
    """Return a hash of the operation without its operands, the values it reads, and whether their order is free.

    `a > b` is written as `b < a`. Values that a region reads from outside follow the operands, in
    the order in which the region's text reads them first.
    """
    attributes = {key: str(op.attributes[key]) for key in mlir.attribute_names(op) if not _is_note(op, key)}
    operands, free = list(op.operands), op.name in COMMUTATIVE
    if op.name == "stablehlo.compare":
        direction = re.search(r"\b(EQ|NE|LT|LE|GT|GE)\b", attributes["comparison_direction"])[1]
        if direction.startswith("G"):
            operands.reverse()
        attributes["comparison_direction"] = direction.replace("G", "L")
        free = direction in ("EQ", "NE")
    captured: list[ir.Value] = []
    regions = [_region(region, captured) for region in op.regions]
    types = [str(result.type) for result in op.results]
    return digest(op.name, sorted(attributes.items()), types, regions), operands + captured, free


def _is_note(op: ir.Operation, name: str) -> bool:
    """Return whether an attribute has no effect on the result: an extractor's note, a layout or a default value."""
    value = str(op.attributes[name])
    if "." in name or name in ("result_layout", "xla_shape"):
        return True
    if name == "precision_config":
        return not re.search(r"HIGH", value)
    if name == "compare_type":
        kind = mlir.element(op.operands[0])
        usual = {"f": "FLOAT", "b": "FLOAT", "i": "SIGNED", "u": "UNSIGNED"}[kind[0]]
        return re.search(r"[A-Z]{2,}", value)[0] == ("UNSIGNED" if kind == "i1" else usual)
    # A pad spells its padding with other attributes, always in full.
    if name not in _DEFAULTS or op.name == "stablehlo.pad":
        return False
    numbers = value.split(":")[1] if value.startswith("array<") else value.split(":")[0]
    return set(re.findall(r"-?\d+|true|false", numbers)) <= {_DEFAULTS[name]}


def _region(region: ir.Region, captured: list[ir.Value]) -> str:
    """Return a hash of a region's body; values from outside are added to `captured`."""
    if len(region.blocks) == 0:
        return "empty"
    if len(region.blocks) != 1:
        raise ProgramError(f"expected regions of one block, got one of {len(region.blocks)}")
    known = {value: f"argument {at} {value.type}" for at, value in enumerate(region.blocks[0].arguments)}
    last = ""
    every: list[str] = []
    for view in region.blocks[0].operations:
        does, operands, free = signature(view.operation)
        names = [_named(value, known, captured) for value in operands]
        last = digest(does, sorted(names) if free else names)
        every.append(last)
        known |= {result: f"{last} {index}" for index, result in enumerate(view.operation.results)}
    return digest(last, sorted(every))


def _named(value: ir.Value, known: dict[ir.Value, str], captured: list[ir.Value]) -> str:
    if value in known:
        return known[value]
    if value not in captured:
        captured.append(value)
    return f"outside {captured.index(value)}"
