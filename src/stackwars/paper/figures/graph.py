"""A workload's program from each framework side by side: ``python -m stackwars.paper.figures.graph``.

Vector PDF at the size of print, the same bytes from the same graphs. Kinds of operation differ in
colour, and in shape or border as well.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("pdf")  # no display, and no second backend to differ by

import matplotlib.pyplot as plt
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from stackwars.frameworks import title
from stackwars.measure import documents
from stackwars.paper.figures.graph_layout import Layout, place
from stackwars.paper.figures.graph_marks import BETWEEN, LOOKS, NAMES, SLANT, arrow, box
from stackwars.paper.style import PAGE, RC

# Added where a box has such a text.
NOTES = {
    "dot_general": "After dot_general: the dimensions contracted.",
    "elementwise operations:": "A box that counts operations makes one value of one value in more "
    "steps than can be drawn.",
}
SIZE, SMALL = 7.0, 6.5  # points
LINE = 0.11  # inches from one line of text to the next
PAD = 0.045  # inches
MOST = 80  # boxes of one program; a whole model has hundreds, and no page shows them
HEIGHT = 8.8  # inches: what a page leaves to a figure with its caption
NOTE = (
    "Under each operation stands the shape of its result (f32 where no type is named). A dot in "
    "brackets is a value that an arrow brings; constants are written out. Lines of one box are "
    "steps one after another. Figures at arrow heads: which operand, where that matters."
)


def draw(workload: dict[str, Any]) -> plt.Figure:
    """One workload's graphs, in the order of its frameworks; a note where a program is missing."""
    panels = [_Panel(name, found) for name, found in workload.items()]
    needed = sum(panel.width for panel in panels) + 0.2 * (len(panels) - 1)
    width = max(PAGE, needed)
    spare = (width - needed) / len(panels)
    height = max(panel.height for panel in panels) + 0.25
    kinds = [k for k in LOOKS if any(k in panel.kinds for panel in panels)]
    texts = [text for panel in panels for lines in panel.texts for text, _ in lines]
    said = [note for found, note in NOTES.items() if any(found in text for text in texts)]
    note = textwrap.wrap(" ".join([NOTE, *said]), int(width * 23.5)) if kinds else []
    foot = (0.28 if kinds else 0) + len(note) * LINE
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
    for at, line in enumerate(note):
        axis.text(
            width / 2, -height - 0.3 - at * LINE, line, ha="center", va="center", fontsize=SMALL
        )
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
        self.missing = textwrap.wrap(said, 44)
        self.texts = [_lines(node) for node in self.nodes]
        sizes = [_size(n, lines) for n, lines in zip(self.nodes, self.texts, strict=True)]
        self.layout: Layout = place([w for w, _ in sizes], self.edges)
        self.sizes = sizes
        self.kinds = {node["kind"] for node in self.nodes}
        self.tops, down = [], 0.0
        for layer in self.layout.layers:
            self.tops.append(down)
            down += max(sizes[node][1] for node in layer) + BETWEEN
        self.tops.append(down)
        self.width = max(self.layout.width, 2.6 if self.missing else 0.0)
        self.height = max(down - BETWEEN, len(self.missing) * LINE) + 0.08

    def draw(self, axis: plt.Axes, left: float, top: float) -> None:
        for at, line in enumerate(self.missing):
            axis.text(
                left + self.width / 2, top - 0.06 - at * LINE, line, ha="center", fontsize=SIZE
            )
        level = {n: at for at, layer in enumerate(self.layout.layers) for n in layer}
        inputs = [sum(e["to"] == n["id"] for e in self.edges) for n in self.nodes]
        for edge, route in zip(self.edges, self.layout.routes, strict=True):
            first, reader = level[edge["from"]], edge["to"]
            xs = [left + x for x in route]
            low = top - self.tops[first] - self.sizes[edge["from"]][1]
            arrow(axis, xs, low, [top - y for y in self.tops[first + 1 :]])
            if self.nodes[reader]["ordered"] and inputs[reader] > 1:
                y = top - self.tops[level[reader]] + 0.075
                # Beside the arrow, away from where it comes from.
                side = -1 if xs[-2] > xs[-1] + 0.01 else 1
                axis.text(
                    xs[-1] + side * 0.058, y, str(edge["operand"]), ha="center", va="center",
                    fontsize=SMALL,
                )  # fmt: skip
        for node, lines, (width, height) in zip(self.nodes, self.texts, self.sizes, strict=True):
            x = left + self.layout.x[node["id"]]
            y = top - self.tops[level[node["id"]]]
            box(axis, node["kind"], x - width / 2, y, width, height)
            for at, (text, size) in enumerate(lines):
                middle = y - PAD - LINE * (at + 0.5)
                axis.text(x, middle, text, ha="center", va="center_baseline", fontsize=size)


def _lines(node: dict[str, Any]) -> list[tuple[str, float]]:
    """Lines of text with their sizes: operations, then the shape of the last one's result."""
    last = node["lines"][-1]["shape"].replace("x", "\u00d7")
    texts = []
    for line in node["lines"]:
        shape = line["shape"].replace("x", "\u00d7")
        texts.append((line["operation"] + (f" to {shape}" if shape != last else ""), SIZE))
    return [*texts, (last, SMALL)]


def _size(node: dict[str, Any], lines: list[tuple[str, float]]) -> tuple[float, float]:
    width = max(_width(text, size) for text, size in lines) + 2 * PAD
    slant = 2 * SLANT if node["kind"] == "reduction" else 0.0
    return width + slant, len(lines) * LINE + 2 * PAD


def _width(text: str, size: float) -> float:
    """Inches that a text takes in the figures' font."""
    font = FontProperties(family=RC["font.family"], size=size)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def _legend(axis: plt.Axes, kinds: list[str], top: float, width: float) -> None:
    widths = [0.32 + _width(NAMES[kind], SIZE) for kind in kinds]
    x = (width - sum(widths) - 0.16 * (len(kinds) - 1)) / 2
    for kind, share in zip(kinds, widths, strict=True):
        box(axis, kind, x, top - 0.05, 0.25, 0.13)
        axis.text(x + 0.31, top - 0.115, NAMES[kind], va="center", fontsize=SIZE)
        x += share + 0.16


def write(workload: str, graphs: dict[str, Any], output: Path) -> None:
    """Write one workload's picture; a workload without graphs gives one that says so."""
    absent = {"status": "no program", "reason": f"none of {workload} was given"}
    with plt.rc_context(RC):
        figure = draw(graphs.get(workload) or {"": absent})
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=Path, required=True, help="JSON from stackwars.ir.graph")
    parser.add_argument("--workload", help="with --output: the one to draw")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--output-dir", type=Path, help="every workload's picture")
    a = parser.parse_args()
    if bool(a.output_dir) == bool(a.output) or bool(a.output) != bool(a.workload):
        parser.error("expected --workload and --output, or --output-dir alone")
    graphs = documents.read(a.graphs)["workloads"]
    if a.output_dir:
        a.output_dir.mkdir(parents=True, exist_ok=True)
    for workload in [a.workload] if a.workload else graphs:
        write(workload, graphs, a.output or a.output_dir / f"{workload}.pdf")


if __name__ == "__main__":
    main()
