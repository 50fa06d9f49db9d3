"""What stands for each kind of operation in a drawn graph: its box, and the arrows between boxes."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Polygon
from matplotlib.path import Path as Outline

from stackwars.paper.figures.graph_layout import Point

SLANT = 0.09  # inches
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
    "reduction": {"facecolor": "#b9e2d3", "linewidth": 0.8},
    "result": {"facecolor": "#dcdcdc", "linewidth": 0.6},
}
ROUND = {"argument", "constant", "result"}


def box(axis: plt.Axes, kind: str, middle: Point, width: float, height: float) -> None:
    """A box of a kind, in inches."""
    look = LOOKS[kind] | {"edgecolor": "black", "zorder": 2}
    left, low = middle[0] - width / 2, middle[1] - height / 2
    if kind in ROUND:
        style = f"round,pad=0,rounding_size={min(height / 2, 0.12)}"
        axis.add_patch(FancyBboxPatch((left, low), width, height, boxstyle=style, **look))
        return
    slant = SLANT * min(1.0, height / 0.3) if kind == "reduction" else 0.0
    right, top = left + width, low + height
    corners = [(left, top), (right, top), (right - slant, low), (left + slant, low)]
    axis.add_patch(Polygon(corners, closed=True, **look))


def arrow(axis: plt.Axes, points: list[Point]) -> None:
    """An arrow along a chain of cubic Bezier curves."""
    path = Outline(points, [Outline.MOVETO] + [Outline.CURVE4] * (len(points) - 1))
    head = "-|>,head_length=4.4,head_width=1.9"
    axis.add_patch(
        FancyArrowPatch(path=path, arrowstyle=head, mutation_scale=1, color="black", linewidth=0.6)
    )
