"""Where the boxes and arrows of a small graph go, as Graphviz's `dot` places them."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import Any

POINTS = 72  # to an inch; dot places by whole ones, so boxes of even size keep arrows vertical
# Room between neighbours and between layers, in inches. No text: boxes come with their size.
ATTRIBUTES = 'nodesep=0.12 ranksep=0.17 node [shape=box fixedsize=true label=""] edge [arrowhead=none]'

Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """Inches from the lower left corner.

    routes: for every edge (from, to) the points of a chain of cubic Bezier curves, from the one box's bottom to the
    other's top.
    """

    width: float
    height: float
    middles: dict[int, Point]
    routes: dict[tuple[int, int], list[Point]]


def even(inches: float) -> float:
    """Return the next length up that dot can halve."""
    return -(-inches * POINTS // 2) * 2 / POINTS


def place(sizes: list[Point], edges: list[dict[str, Any]]) -> Layout:
    """Lay out boxes 0.. of these widths and heights (inches, `even`), joined by edges with `from` and `to`.

    Layers go from top to bottom, with few crossings and no arrow through a box.

    Gansner et al., A Technique for Drawing Directed Graphs, IEEE Trans. Softw. Eng. 19 (1993).

    :raises FileNotFoundError: if there is no `dot`.
    """
    boxes = [f"{node} [width={w} height={h}]" for node, (w, h) in enumerate(sizes)]
    ends = Counter(end for edge in edges for end in ((edge["from"], 0), (edge["to"], 1)))
    # A chain stays vertical: where it must move aside, the branches do.
    alone = [max(ends[edge["from"], 0], ends[edge["to"], 1]) == 1 for edge in edges]
    arrows = [
        f"{edge['from']} -> {edge['to']} [weight={100 if one else 1}]"
        for edge, one in zip(edges, alone, strict=True)
    ]
    text = "\n".join([f"digraph {{ {ATTRIBUTES}", *boxes, *arrows, "}"])
    command = ["dot", "-Tplain"]
    plain = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    size, middles, routes = (0.0, 0.0), {}, {}
    for what, *rest in map(str.split, plain.stdout.splitlines()):
        if what == "graph":
            size = (float(rest[1]), float(rest[2]))
        elif what == "node":
            middles[int(rest[0])] = (float(rest[1]), float(rest[2]))
        elif what == "edge":
            numbers = list(map(float, rest[3 : 3 + 2 * int(rest[2])]))
            routes[int(rest[0]), int(rest[1])] = list(zip(numbers[::2], numbers[1::2], strict=True))
    return Layout(*size, middles, routes)
