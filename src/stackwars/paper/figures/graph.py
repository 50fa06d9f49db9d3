"""A workload's program from each framework side by side.

Vector PDF at the size of print, the same bytes from the same graphs and the same Graphviz, which places
the boxes (`graph_layout`), while matplotlib draws them in the paper's style. Kinds of operation differ in
colour, and in border as well.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Outline
from matplotlib.textpath import text_to_path

from stackwars.frameworks import title
from stackwars.measure import documents
from stackwars.paper.figures.files import save
from stackwars.paper.figures.graph_layout import Point, even, place
from stackwars.paper.style import PAGE, RC

SIZE = 7.0  # points
LINE = 0.11  # inches from one line of text to the next
PAD = 0.045  # inches
APART = 0.2  # inches between two programs
NOTE = (
    "Below each operation: the shape of its result (f32 if no type is named). A dot in parentheses is a value that "
    "an arrow brings; constants are written out. The lines of one box are consecutive steps. Numbers at arrow heads: "
    "which operand, if that matters. After dot_general: the dimensions contracted."
)
NAMES = {
    "argument": "argument",
    "constant": "constant tensor",
    "compute": "elementwise",
    "layout": "data movement only",
    "product": "matrix product or convolution",
    "reduction": "reduction or normalisation",
    "result": "result",
}
# Tints of Okabe and Ito's palette, which keep black text readable.
LOOKS: dict[str, dict[str, Any]] = {
    "argument": {"facecolor": "white", "linewidth": 0.6},
    "constant": {"facecolor": "white", "linewidth": 0.6, "linestyle": (0, (1, 1.4))},
    "compute": {"facecolor": "#fbf3bf", "linewidth": 0.6},
    "layout": {"facecolor": "#d5ebf8", "linewidth": 0.8, "linestyle": (0, (3, 1.6))},
    "product": {"facecolor": "#f7c7a8", "linewidth": 1.6},
    "reduction": {"facecolor": "#b9e2d3", "linewidth": 1.2, "linestyle": (0, (6, 1, 1, 1))},
    "result": {"facecolor": "#dcdcdc", "linewidth": 0.6},
}
ROUND = {"argument", "constant", "result"}


def draw(programs: dict[str, Any]) -> plt.Figure:
    """Draw one workload's graphs, in the order of its frameworks; a note if a program is missing."""
    panels = [_Panel(name, found) for name, found in programs.items()]
    needed = sum(panel.width for panel in panels) + APART * (len(panels) - 1)
    width = max(PAGE, needed)
    spare = (width - needed) / len(panels)
    height = max(panel.height for panel in panels) + 0.3
    kinds = [kind for kind in LOOKS if any(kind in panel.kinds for panel in panels)]
    note = textwrap.fill(NOTE, int(width * 22)) if kinds else ""
    foot = 0.27 + (1 + note.count("\n")) * LINE if kinds else 0.0
    figure = plt.figure(figsize=(width, height + foot), layout="none")
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set(xlim=(0, width), ylim=(-height - foot, 0))
    axis.axis("off")
    left = 0.0
    for panel in panels:
        share = panel.width + spare
        axis.text(left + share / 2, -0.09, panel.title, ha="center", va="center", fontsize=8.5)
        panel.draw(axis, left + spare / 2, -0.25)
        left += share + APART
        if panel is not panels[-1]:
            axis.plot([left - APART / 2] * 2, [-0.02, -height + 0.05], color="#999999", linewidth=0.5)
    _legend(axis, kinds, -height, width)
    _text(axis, width / 2, -height - 0.25, note, va="top")
    return figure


class _Panel:
    """One framework's graph, measured, and then drawn where there is room for it."""

    def __init__(self, framework: str, found: dict[str, Any]) -> None:
        self.title = title(framework)
        self.nodes, self.edges = found.get("nodes", []), found.get("edges", [])
        self.missing = (
            "" if found["status"] == "ok" else textwrap.fill(f"{found['status']}: {found['reason']}", 44)
        )
        self.texts = [_lines(node) for node in self.nodes]
        self.sizes = [_size(text) for text in self.texts]
        self.layout = place(self.sizes, self.edges)
        self.kinds = {node["kind"] for node in self.nodes}
        self.width = max(self.layout.width, 2.6 if self.missing else 0.0)
        self.height = max(self.layout.height, (1 + self.missing.count("\n")) * LINE)

    def draw(self, axis: plt.Axes, left: float, top: float) -> None:
        _text(axis, left + self.width / 2, top, self.missing, va="top")
        low = top - self.layout.height
        inputs = Counter(edge["to"] for edge in self.edges)
        for edge in self.edges:
            route = [(left + x, low + y) for x, y in self.layout.routes[edge["from"], edge["to"]]]
            _arrow(axis, route)
            if self.nodes[edge["to"]]["ordered"] and inputs[edge["to"]] > 1:
                # Beside the arrow's head, away from where it comes from.
                (start, _), (x, y) = route[-4], route[-1]
                side = -1 if start > x + 0.01 else 1
                _text(axis, x + side * 0.058, y + 0.075, str(edge["operand"]))
        for node, lines, (width, height) in zip(self.nodes, self.texts, self.sizes, strict=True):
            x, y = self.layout.middles[node["id"]]
            _box(axis, node["kind"], (left + x, low + y), width, height)
            for at, line in enumerate(lines):
                _text(axis, left + x, low + y + LINE * ((len(lines) - 1) / 2 - at), line)


def _lines(node: dict[str, Any]) -> list[str]:
    """Return lines of text: operations, then the shape of the last one's result."""
    lines = [(line["operation"], line["shape"].replace("x", "\u00d7")) for line in node["lines"]]
    last = lines[-1][1]
    return [text + (f" to {shape}" if shape != last else "") for text, shape in lines] + [last]


def _size(lines: list[str]) -> tuple[float, float]:
    return even(max(map(_width, lines)) + 2 * PAD), even(len(lines) * LINE + 2 * PAD)


def _text(axis: plt.Axes, x: float, y: float, text: str, va: str = "center_baseline") -> None:
    axis.text(x, y, text, ha="center", va=va, fontsize=SIZE, linespacing=1.0)


def _width(text: str) -> float:
    """Return the inches that a text takes in the figures' font."""
    font = FontProperties(family=RC["font.family"], size=SIZE)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def _legend(axis: plt.Axes, kinds: list[str], top: float, width: float) -> None:
    widths = [0.32 + _width(NAMES[kind]) for kind in kinds]
    x = (width - sum(widths) - 0.16 * (len(kinds) - 1)) / 2
    for kind, share in zip(kinds, widths, strict=True):
        _box(axis, kind, (x + 0.125, top - 0.115), 0.25, 0.13)
        axis.text(x + 0.31, top - 0.115, NAMES[kind], va="center", fontsize=SIZE)
        x += share + 0.16


def _box(axis: plt.Axes, kind: str, middle: Point, width: float, height: float) -> None:
    """Draw a box of a kind; lengths in inches."""
    corner = (middle[0] - width / 2, middle[1] - height / 2)
    style = f"round,pad=0,rounding_size={min(height / 2, 0.12)}" if kind in ROUND else "square,pad=0"
    look = LOOKS[kind] | {"edgecolor": "black", "zorder": 2}
    axis.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, **look))


def _arrow(axis: plt.Axes, points: list[Point]) -> None:
    """Draw an arrow along a chain of cubic Bezier curves."""
    path = Outline(points, [Outline.MOVETO] + [Outline.CURVE4] * (len(points) - 1))
    head = "-|>,head_length=4.4,head_width=1.9"
    axis.add_patch(FancyArrowPatch(path=path, arrowstyle=head, mutation_scale=1, color="black", linewidth=0.6))


def write_all(graphs: Path, output: Path) -> None:
    """Write the picture of every workload of a file of stackwars.paper.listings."""
    found = documents.read(graphs)["workloads"]
    save(lambda: {workload: draw(programs) for workload, programs in found.items()}, output)
