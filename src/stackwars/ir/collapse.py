"""Make a graph small enough to read: chains become one box with a line for each operation.

Plain data in and out, so it needs no MLIR bindings.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any

JOINED = {"compute", "layout"}  # kinds whose chains become one box
LARGE = 12  # elementwise operations from one value to another that are told by their counts alone
WIDTH = 30  # characters in a line of these counts

Graph = dict[str, Any]


def collapse(graph: Graph) -> Graph:
    """The graph with large elementwise regions and then chains joined; ids are counted anew.

    A chain is a run of nodes of one kind, each but the first with no other input than the node
    before, which has no other reader. A region is what an elementwise result is made from by elementwise
    operations that nothing else reads, where all of it comes from one value; beyond LARGE
    operations it becomes one line that counts them (GELU's error function written as polynomials).
    """
    nodes = {node["id"]: node for node in graph["nodes"]}
    edges = [dict(edge) for edge in graph["edges"]]
    for last in reversed(list(nodes)):
        if last in nodes:
            edges = _join_region(nodes, edges, last)
    for node in list(nodes):
        edges = _join_chain(nodes, edges, node)
    numbers = {old: new for new, old in enumerate(nodes)}
    for edge in edges:
        edge["from"], edge["to"] = numbers[edge["from"]], numbers[edge["to"]]
    return {"nodes": [nodes[old] | {"id": numbers[old]} for old in nodes], "edges": edges}


def _join_region(nodes: dict[int, Graph], edges: list[Graph], last: int) -> list[Graph]:
    if nodes[last]["kind"] != "compute":
        return edges
    region = _cone(nodes, edges, last)
    inputs = {e["from"] for e in edges if e["to"] in region and e["from"] not in region}
    if len(region) <= LARGE or len(inputs) > 1:
        return edges
    counts = Counter(
        line["operation"].partition("(")[0].removesuffix(" by itself")
        for node in sorted(region)
        for line in nodes[node]["lines"]
    )
    shape = nodes[last]["lines"][-1]["shape"]
    # A line breaks between operations alone: textwrap leaves a no-break space whole.
    listed = [f"{count} {name}".replace(" ", "\u00a0") for name, count in counts.most_common()]
    texts = [text.replace("\u00a0", " ") for text in textwrap.wrap(", ".join(listed), WIDTH)]
    texts.insert(0, f"{sum(counts.values())} elementwise operations:")
    nodes[last]["lines"] = [{"operation": text, "shape": shape} for text in texts]
    for gone in region - {last}:
        del nodes[gone]
    kept = [e for e in edges if e["from"] not in region or e["from"] == last]
    kept = [e for e in kept if e["to"] not in region]
    return kept + [{"from": source, "to": last, "operand": 1} for source in sorted(inputs)]


def _cone(nodes: dict[int, Graph], edges: list[Graph], last: int) -> set[int]:
    """Elementwise nodes that `last` is made from and nothing but these reads, with itself."""
    readers: dict[int, set[int]] = {}
    for edge in edges:
        readers.setdefault(edge["from"], set()).add(edge["to"])
    region = {last}
    # Program order is a topological order, so every reader has been decided before its source.
    for node in sorted((n for n in nodes if n < last), reverse=True):
        own = readers.get(node)
        if nodes[node]["kind"] == "compute" and own and own <= region:
            region.add(node)
    return region


def _join_chain(nodes: dict[int, Graph], edges: list[Graph], node: int) -> list[Graph]:
    """Put the node before this one into it, where both are a chain."""
    sources = [edge["from"] for edge in edges if edge["to"] == node]
    if nodes[node]["kind"] not in JOINED or len(sources) != 1:
        return edges
    before = sources[0]
    readers = [edge["to"] for edge in edges if edge["from"] == before]
    if nodes[before]["kind"] != nodes[node]["kind"] or len(readers) != 1:
        return edges
    nodes[node]["lines"] = nodes[before]["lines"] + nodes[node]["lines"]
    nodes[node]["ordered"] = nodes[before]["ordered"]
    del nodes[before]
    return [e | {"to": node} if e["to"] == before else e for e in edges if e["from"] != before]
