"""A large graph made small: of a block that repeats the first is kept, and the others become one box.

Plain data in and out: the graphs of `stackwars.ir.graph`.
"""

from __future__ import annotations

from typing import Any

LARGE = 60
"""Boxes of a graph that is drawn as it is."""
LEAST = 4
"""Boxes of a block."""
BLOCK = "block"
"""The kind of the box that stands for the further blocks."""

Graph = dict[str, Any]


def folded(graph: Graph) -> tuple[Graph, str]:
    """Return a graph of at most LARGE boxes as it is, a larger one without arguments and with blocks folded.

    And what was left out, in a sentence, or the empty text.
    """
    if len(graph["nodes"]) <= LARGE:
        return graph, ""
    arguments = sum(node["kind"] == "argument" for node in graph["nodes"])
    graph = without_arguments(graph)
    while len(graph["nodes"]) > LARGE:
        found = _repeated(graph["nodes"])
        if found is None:
            break
        graph = _fold(graph, *found)
    return graph, f"Its arguments are left out, {arguments} in number." if arguments else ""


def without_arguments(graph: Graph) -> Graph:
    """Return the graph without the boxes of the program's arguments."""
    return _kept(graph, [node["id"] for node in graph["nodes"] if node["kind"] != "argument"])


def _repeated(nodes: list[Graph]) -> tuple[int, int, int] | None:
    """Return where the series of boxes begins that repeats and saves most, its length, and its number."""
    keys = [(node["kind"], str(node["lines"]), node.get("block")) for node in nodes]
    best, most = None, 0
    for length in range(LEAST, len(keys) // 2 + 1):
        same = 0
        # One past the end closes the last run of boxes that equal those a block later.
        for at in range(len(keys) - length + 1):
            if at < len(keys) - length and keys[at] == keys[at + length]:
                same += 1
                continue
            times = 1 + same // length
            if (times - 1) * length > most:
                best, most = (at - same, length, times), (times - 1) * length
            same = 0
    return best


def _fold(graph: Graph, begin: int, length: int, times: int) -> Graph:
    nodes = graph["nodes"]
    gone = {node["id"] for node in nodes[begin + length : begin + length * times]}
    first = nodes[begin + length]["id"]
    again = "block" if times == 2 else "blocks"
    line = {"operation": f"{times - 1} more {again} like this", "shape": f"{length} boxes each"}
    box = {"id": first, "kind": BLOCK, "lines": [line], "ordered": False}
    marked = [
        node | {"block": f"{times} times"} if begin <= at < begin + length else node
        for at, node in enumerate(nodes)
    ]
    edges = [
        edge
        | {"from": first if edge["from"] in gone else edge["from"]}
        | {"to": first if edge["to"] in gone else edge["to"]}
        for edge in graph["edges"]
    ]
    unique = {(edge["from"], edge["to"]): edge for edge in edges if edge["from"] != edge["to"]}
    kept = [box if node["id"] == first else node for node in marked]
    ids = [node["id"] for node in kept if node["id"] == first or node["id"] not in gone]
    return _kept({"nodes": kept, "edges": list(unique.values())}, ids)


def _kept(graph: Graph, ids: list[int]) -> Graph:
    """Return these boxes, counted anew in this order, and the edges between them."""
    numbers = {old: new for new, old in enumerate(ids)}
    by_id = {node["id"]: node for node in graph["nodes"]}
    return {
        "nodes": [by_id[old] | {"id": new} for old, new in numbers.items()],
        "edges": [
            edge | {"from": numbers[edge["from"]], "to": numbers[edge["to"]]}
            for edge in graph["edges"]
            if edge["from"] in numbers and edge["to"] in numbers
        ],
    }
