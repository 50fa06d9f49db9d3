"""A hash of what a program computes: the same for programs that differ in spelling alone.

It does not see names, locations, layouts, the order of arguments, the order of operations that
their data leaves free, or the order of the operands of commutative operations. It does see
constants, shapes, element types, dimension numbers, precision, how operations are connected, and
the order of results.

How: every value gets a colour, a hash of the operation that makes it and of the colours it reads;
every argument one of its type and of all its uses. Both are refined alternately until no more
arguments differ (colour refinement, after Weisfeiler and Leman). Where arguments are still alike,
each of them is singled out once and the minimum hash is taken.

Guarantee: isomorphic programs hash the same; others differ, but for collisions of 128 bits, within
BUDGET refinements. Beyond, programs that refinement alone cannot tell apart share a hash. Programs
are compared as they are: normalise them first, which also leaves no repeated operations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from jaxlib.mlir import ir

from stackwars.ir.module import block, callee, entry, functions, name, operations
from stackwars.ir.signature import digest, signature

BUDGET = 200  # refinements; a program without interchangeable arguments needs one


@dataclass(frozen=True)
class Node:
    """An operation: what it does, the values it reads, whether their order is free, its results."""

    does: str
    reads: list[int]
    free: bool
    makes: list[int]


@dataclass(frozen=True)
class Graph:
    """A function: types of its arguments, which are values 0, 1, ..., and its operations in order.

    The last operation is the return.
    """

    arguments: list[str]
    nodes: list[Node]


class _OverBudget(Exception):
    pass


def canonical_hash(module: ir.Module) -> str:
    """Return a hash of the entry function with all that it calls: 32 hexadecimal digits.

    Raises ProgramError for a module without an entry, or with regions of several blocks.
    """
    graph = _graph(module, entry(module), {})
    start = [digest("argument", kind) for kind in graph.arguments]
    try:
        return _search(graph, start, [BUDGET])
    except _OverBudget:
        return digest("unresolved", _refined(graph, start)[1])


def _graph(module: ir.Module, function: ir.Operation, called: dict[str, str]) -> Graph:
    number: dict[ir.Value, int] = {}
    arguments = list(block(function).arguments)
    for argument in arguments:
        number[argument] = len(number)
    nodes = []
    for op in operations(function):
        does, reads, free = signature(op)
        if op.name == "func.call":
            does = _called(module, callee(op), called)
        for result in op.results:
            number[result] = len(number)
        makes = [number[result] for result in op.results]
        nodes.append(Node(does, [number[value] for value in reads], free, makes))
    return Graph([str(argument.type) for argument in arguments], nodes)


def _called(module: ir.Module, wanted: str, called: dict[str, str]) -> str:
    """Return a hash of a called function, whose arguments are known by their position."""
    if wanted not in called:
        function = next(f for f in functions(module) if name(f) == wanted)
        graph = _graph(module, function, called)
        start = [digest("argument", kind, index) for index, kind in enumerate(graph.arguments)]
        called[wanted] = digest("call", _refined(graph, start)[1])
    return called[wanted]


def _search(graph: Graph, colours: list[str], left: list[int]) -> str:
    """Return the minimum hash over the ways to single out arguments that refinement leaves alike."""
    if left[0] == 0:
        raise _OverBudget
    left[0] -= 1
    colours, hashed = _refined(graph, colours)
    alike = [colour for colour, count in Counter(colours).items() if count > 1]
    if not alike:
        return hashed
    members = [index for index, colour in enumerate(colours) if colour == min(alike)]
    hashes = []
    for chosen in members:
        single = list(colours)
        single[chosen] = digest("chosen", colours[chosen])
        hashes.append(_search(graph, single, left))
    return min(hashes)


def _refined(graph: Graph, colours: list[str]) -> tuple[list[str], str]:
    """Refine the colours of the arguments as far as they differ; return them and their hash."""
    while True:
        values, does = _downwards(graph, colours)
        uses, works = _upwards(graph, does)
        finer = [digest("argument", colour, sorted(uses[index])) for index, colour in enumerate(colours)]
        if len(set(finer)) == len(set(colours)):
            results = [values[index] for index in graph.nodes[-1].reads]
            return colours, digest(results, sorted(works), sorted(finer))
        colours = finer


def _downwards(graph: Graph, colours: list[str]) -> tuple[dict[int, str], list[str]]:
    """Return the colour of every value and of every operation, from what they are made from."""
    values = dict(enumerate(colours))
    does = []
    for node in graph.nodes:
        read = [values[index] for index in node.reads]
        colour = digest(node.does, sorted(read) if node.free else read)
        does.append(colour)
        for place, index in enumerate(node.makes):
            values[index] = digest(colour, place)
    return values, does


def _upwards(graph: Graph, does: list[str]) -> tuple[dict[int, list[str]], list[str]]:
    """Return the colour of the uses of every value, and of every operation with all its uses."""
    uses: dict[int, list[str]] = defaultdict(list)
    works = []
    for node, colour in zip(reversed(graph.nodes), reversed(does), strict=True):
        work = digest(colour, [sorted(uses[index]) for index in node.makes])
        works.append(work)
        for place, index in enumerate(node.reads):
            uses[index].append(digest(work, "any" if node.free else place))
    return uses, works
