"""A workload's program from each framework side by side.

Vector PDF at the size of print, the same bytes from the same graphs and the same Graphviz, which places
the boxes (`graph_layout`), while matplotlib draws them in the paper's style. Kinds of operation differ in
colour, and in shape or border as well.
"""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("pdf")  # no display, and no second backend to differ by

import matplotlib.pyplot as plt
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from stackwars.frameworks import title
from stackwars.measure import documents
from stackwars.paper.figures.graph_layout import even, place
from stackwars.paper.figures.graph_marks import LOOKS, NAMES, SLANT, arrow, box
from stackwars.paper.style import PAGE, RC

# Added where a box has such a text.
NOTES = {
    "dot_general": "After dot_general: the dimensions contracted.",
    "elementwise operations:": "A box that counts operations computes one value from one value in more "
    "steps than can be drawn.",
}
SIZE = 7.0  # points
LINE = 0.11  # inches from one line of text to the next
PAD = 0.045  # inches
MOST = 80  # boxes of one program; a whole model has hundreds, and no page shows them
HEIGHT = 8.8  # inches: what a page leaves to a figure with its caption
NOTE = (
    "Below each operation: the shape of its result (f32 where no type is named). A dot in "
    "parentheses is a value that an arrow brings; constants are written out. The lines of one box are "
    "consecutive steps. Numbers at arrow heads: which operand, where that matters."
)


def draw(workload: dict[str, Any]) -> plt.Figure:
    """One workload's graphs, in the order of its frameworks; a note where a program is missing."""
    panels = [_Panel(name, found) for name, found in workload.items()]
    needed = sum(panel.width for panel in panels) + 0.2 * (len(panels) - 1)
    width = max(PAGE, needed)
    spare = (width - needed) / len(panels)
    height = max(panel.height for panel in panels) + 0.3
    kinds = [k for k in LOOKS if any(k in panel.kinds for panel in panels)]
    texts = [text for panel in panels for lines in panel.texts for text in lines]
    said = [note for found, note in NOTES.items() if any(found in text for text in texts)]
    note = textwrap.fill(" ".join([NOTE, *said]), int(width * 22)) if kinds else ""
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
        left += share + 0.2
        if panel is not panels[-1]:
            axis.plot([left - 0.1] * 2, [-0.02, -height + 0.05], color="#999999", linewidth=0.5)
    _legend(axis, kinds, -height, width)
    _text(axis, width / 2, -height - 0.25, note, va="top")
    return figure


class _Panel:
    """One framework's graph, measured, and then drawn where there is room for it."""

    def __init__(self, framework: str, found: dict[str, Any]) -> None:
        self.title = title(framework) if framework else ""
        self.nodes, self.edges = found.get("nodes", []), found.get("edges", [])
        said = f"{found['status']}: {found['reason']}" if found["status"] != "ok" else ""
        if len(self.nodes) > MOST:
            said = f"not drawn: {len(self.nodes)} boxes, more than the {MOST} that a page can show"
            self.nodes, self.edges = [], []
        self.missing = textwrap.fill(said, 44)
        self.texts = [_lines(node) for node in self.nodes]
        self.sizes = [_size(n["kind"], t) for n, t in zip(self.nodes, self.texts, strict=True)]
        self.layout = place(self.sizes, self.edges)
        self.kinds = {node["kind"] for node in self.nodes}
        self.width = max(self.layout.width, 2.6 if self.missing else 0.0)
        self.height = max(self.layout.height, (1 + self.missing.count("\n")) * LINE)

    def draw(self, axis: plt.Axes, left: float, top: float) -> None:
        _text(axis, left + self.width / 2, top, self.missing, va="top")
        low = top - self.layout.height
        inputs = Counter(edge["to"] for edge in self.edges)
        for edge in self.edges:
            route = self.layout.routes[edge["from"], edge["to"]]
            route = [(left + x, low + y) for x, y in route]
            arrow(axis, route)
            if self.nodes[edge["to"]]["ordered"] and inputs[edge["to"]] > 1:
                # Beside the arrow's head, away from where it comes from.
                (start, _), (x, y) = route[-4], route[-1]
                side = -1 if start > x + 0.01 else 1
                _text(axis, x + side * 0.058, y + 0.075, str(edge["operand"]))
        for node, lines, (width, height) in zip(self.nodes, self.texts, self.sizes, strict=True):
            x, y = self.layout.middles[node["id"]]
            box(axis, node["kind"], (left + x, low + y), width, height)
            for at, line in enumerate(lines):
                _text(axis, left + x, low + y + LINE * ((len(lines) - 1) / 2 - at), line)


def _lines(node: dict[str, Any]) -> list[str]:
    """Lines of text: operations, then the shape of the last one's result."""
    lines = [(line["operation"], line["shape"].replace("x", "\u00d7")) for line in node["lines"]]
    last = lines[-1][1]
    return [text + (f" to {shape}" if shape != last else "") for text, shape in lines] + [last]


def _size(kind: str, lines: list[str]) -> tuple[float, float]:
    slant = 2 * SLANT if kind == "reduction" else 0.0
    return even(max(map(_width, lines)) + 2 * PAD + slant), even(len(lines) * LINE + 2 * PAD)


def _text(axis: plt.Axes, x: float, y: float, text: str, va: str = "center_baseline") -> None:
    axis.text(x, y, text, ha="center", va=va, fontsize=SIZE, linespacing=1.0)


def _width(text: str) -> float:
    """Inches that a text takes in the figures' font."""
    font = FontProperties(family=RC["font.family"], size=SIZE)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def _legend(axis: plt.Axes, kinds: list[str], top: float, width: float) -> None:
    widths = [0.32 + _width(NAMES[kind]) for kind in kinds]
    x = (width - sum(widths) - 0.16 * (len(kinds) - 1)) / 2
    for kind, share in zip(kinds, widths, strict=True):
        box(axis, kind, (x + 0.125, top - 0.115), 0.25, 0.13)
        axis.text(x + 0.31, top - 0.115, NAMES[kind], va="center", fontsize=SIZE)
        x += share + 0.16


def write(workload: str, graphs: dict[str, Any], output: Path) -> None:
    """Write the picture of one of these workloads."""
    with plt.rc_context(RC):
        figure = draw(graphs[workload])
        wide, high = figure.get_size_inches()
        if wide > PAGE + 0.01 or high > HEIGHT:
            print(
                f"[graph_figure] {workload} takes {wide:.1f} x {high:.1f} in, a page has {PAGE} x "
                f"{HEIGHT}: its text will be smaller in print",
                file=sys.stderr,
            )
        output.parent.mkdir(parents=True, exist_ok=True)
        # No date in the file: the same graphs give the same bytes.
        figure.savefig(output, metadata={"CreationDate": None})
        plt.close(figure)


def write_all(graphs: Path, output: Path) -> None:
    """Write the picture of every workload of a file of stackwars.paper.listings."""
    output.mkdir(parents=True, exist_ok=True)
    workloads = documents.read(graphs)["workloads"]
    for workload in workloads:
        write(workload, workloads, output / f"{workload}.pdf")
