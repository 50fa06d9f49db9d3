"""What stands for each kind of operation in a drawn graph: its box, and the arrows between boxes."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch, Patch, PathPatch, Polygon
from matplotlib.path import Path as Outline

SLANT = 0.09  # inches
BETWEEN = 0.17  # inches from one layer to the next
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


def box(axis: plt.Axes, kind: str, x: float, y: float, width: float, height: float) -> None:
    """A box of a kind with its upper left corner at x, y."""
    look = LOOKS[kind] | {"edgecolor": "black", "zorder": 2}
    shape: Patch
    if kind in ROUND:
        style = f"round,pad=0,rounding_size={min(height / 2, 0.12)}"
        shape = FancyBboxPatch((x, y - height), width, height, boxstyle=style, **look)
    else:
        slant = SLANT * min(1.0, height / 0.3) if kind == "reduction" else 0.0
        corners = [(x, y), (x + width, y), (x + width - slant, y - height), (x + slant, y - height)]
        shape = Polygon(corners, closed=True, **look)
    axis.add_patch(shape)


def arrow(axis: plt.Axes, xs: list[float], low: float, tops: list[float]) -> None:
    """An arrow from a box's bottom at `low` through the layers whose tops follow.

    It bends only between layers and is vertical within them, so that it meets no box.
    """
    points, codes = [(xs[0], low)], [Outline.MOVETO]
    for before, x, top in zip(xs, xs[1:], tops, strict=False):
        bend = top + BETWEEN
        end = top + 0.05 if x is xs[-1] else top
        middle = (bend + end) / 2
        points += [(before, bend), (before, middle), (x, middle), (x, end)]
        codes += [Outline.LINETO] + [Outline.CURVE4] * 3
    axis.add_patch(PathPatch(Outline(points, codes), facecolor="none", linewidth=0.6, zorder=1))
    x, top = xs[-1], tops[len(xs) - 2]
    head = [(x, top), (x - 0.026, top + 0.062), (x + 0.026, top + 0.062)]
    axis.add_patch(Polygon(head, closed=True, facecolor="black", linewidth=0, zorder=3))
