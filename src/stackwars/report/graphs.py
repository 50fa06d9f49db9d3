"""The graphs of the report: ``python -m stackwars.report.graphs``, in JAX's environment for its MLIR bindings.

Each is the normalised program as Graphviz's `dot` places it; the page draws it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stackwars import workloads
from stackwars.compilers.op_classes import ELEMENTWISE, PRODUCTS, REDUCTIONS, TRANSPOSES
from stackwars.ir import graph, module
from stackwars.paper.figures.graph_layout import POINTS, QUICK, even, place
from stackwars.report.blocks import BLOCK, folded, without_arguments
from stackwars.results.folder import Folder, command
from stackwars.study import printed

MOST_CHARACTERS = 200_000
"""Of a program's text: BERT's has 160,000, a model of a billion parameters more than twice as many."""
MOST_BOXES = 300
"""After blocks are folded: more take dot too long, and nobody reads them."""
MOST_UNFOLDED = 1000
"""Boxes of a program whose blocks are all drawn when a reader asks for them."""
CLASSES = {
    "compute": ELEMENTWISE,
    "layout": TRANSPOSES,
    "product": PRODUCTS,
    "reduction": REDUCTIONS,
}
"""The class in profile.csv of a kind of box."""
CHARACTER, LINE, PAD = 6.1, 12.0, 5.0
"""Points of a text of 10 points in a fixed-width font, and around it."""


def graphs(config: dict, measured: Path) -> list[dict[str, Any]]:
    """Return every program that is there: what it is of, and its graph or the reason why it has none."""
    found = []
    for program in printed.graphed(config):
        path = measured / program.path / "program.mlir.gz"
        if path.exists():
            head = {"workload": program.workload, "title": workloads.load(program.workload).TITLE}
            found.append({**head, "framework": program.framework, **drawn(path)})
    return found


def drawn(path: Path) -> dict[str, Any]:
    """Return {"graph": of `laid_out`, or None, "note": what is left out of it, "reason": why there is none}; as
    "unfolded" the same graph with every block drawn, None if none is folded or the boxes are too many."""
    size = len(module.read(path))
    if size > MOST_CHARACTERS:
        return _none(f"Not drawn: its text has {size} characters, more than {MOST_CHARACTERS}.")
    described = graph.described(path)
    if described["status"] != "ok":
        return _none(f"Not drawn: {described['status']}: {described['reason']}.")
    kept, note = folded(described)
    if len(kept["nodes"]) > MOST_BOXES:
        boxes = len(kept["nodes"])
        return _none(f"Not drawn: it has {boxes} boxes, more than {MOST_BOXES}.")
    unfolded = None
    if any(node["kind"] == BLOCK for node in kept["nodes"]):
        whole = without_arguments(described)
        unfolded = laid_out(whole, QUICK) if len(whole["nodes"]) <= MOST_UNFOLDED else None
    return {"graph": laid_out(kept), "unfolded": unfolded, "note": note, "reason": ""}


def _none(reason: str) -> dict[str, Any]:
    return {"graph": None, "unfolded": None, "note": "", "reason": reason}


def laid_out(found: dict[str, Any], more: str = "") -> dict[str, Any]:
    """Return boxes and arrows with their places, in points from the upper left corner; more: for dot."""
    texts = [_lines(node) for node in found["nodes"]]
    sizes = [_size(lines) for lines in texts]
    layout = place(sizes, found["edges"], more)

    def at(point: tuple[float, float]) -> list[float]:
        return [round(POINTS * point[0], 1), round(POINTS * (layout.height - point[1]), 1)]

    nodes, edges = [], []
    for node, lines, (width, height) in zip(found["nodes"], texts, sizes, strict=True):
        x, y = at(layout.middles[node["id"]])
        box = {"x": x, "y": y, "width": round(POINTS * width), "height": round(POINTS * height)}
        look = {"kind": node["kind"], "class": CLASSES.get(node["kind"]), "block": node.get("block")}
        nodes.append({**box, **look, "lines": lines})
    inputs = [edge["to"] for edge in found["edges"]]
    for edge in found["edges"]:
        is_named = found["nodes"][edge["to"]]["ordered"] and inputs.count(edge["to"]) > 1
        points = [at(point) for point in layout.routes[edge["from"], edge["to"]]]
        edges.append({"points": points, "operand": edge["operand"] if is_named else None})
    size = {"width": round(POINTS * layout.width), "height": round(POINTS * layout.height)}
    return {**size, "nodes": nodes, "edges": edges}


def _lines(node: dict[str, Any]) -> list[str]:
    """Return its operations, and below them the shape of the last one's result."""
    shape = node["lines"][-1]["shape"]
    lines = [
        line["operation"] + ("" if line["shape"] == shape else f" to {line['shape']}") for line in node["lines"]
    ]
    return [text.replace("x", "\u00d7") if text == shape else text for text in [*lines, shape]]


def _size(lines: list[str]) -> tuple[float, float]:
    """Return the size of a box in inches."""
    width = CHARACTER * max(map(len, lines)) + 2 * PAD
    return even(width / POINTS), even((LINE * len(lines) + 2 * PAD) / POINTS)


def write(config: dict, folder: Folder) -> None:
    """Write report_graphs.json of a run."""
    document = {"graphs": graphs(config, folder.measured)}
    text = json.dumps(document, separators=(",", ":")) + "\n"
    folder["report_graphs"].write_text(text, encoding="utf-8")


if __name__ == "__main__":
    command(write)
