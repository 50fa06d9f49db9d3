"""The look of every figure: data to merge into matplotlib's rcParams, in this one place."""

from __future__ import annotations

import math
from typing import Any

from stackwars import frameworks
from stackwars.compilers.op_classes import (
    DISPATCH,
    ELEMENTWISE,
    LIBRARY,
    PRODUCTS,
    REDUCTIONS,
    TRANSPOSES,
)

COLUMN = 3.45  # inches: the width of an IEEEtran column, so that text keeps its size in print
PAGE = 7.1
GREY = "#e6e6e6"

RC: dict[str, Any] = {
    "font.family": "STIXGeneral",  # ships with matplotlib and goes with the paper's Times
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.4,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,  # TrueType, as publishers ask; Type 3 is refused by some
}

# From dark to light: the order is kept when a page is printed in grey.
_LOOKS = [
    {"color": "#14213d", "marker": "o", "linestyle": "-"},
    {"color": "#c4571b", "marker": "s", "linestyle": "--"},
    {"color": "#5fae97", "marker": "^", "linestyle": ":"},
    {"color": "#d9b44a", "marker": "D", "linestyle": "-."},
]


def line_look(name: str, names: list[str]) -> dict[str, Any]:
    """How the line of one of several things is drawn: its place among them decides."""
    return dict(_LOOKS[names.index(name) % len(_LOOKS)])


def framework_look(name: str, names: list[str]) -> dict[str, Any]:
    """How a framework is drawn: in its own colour; its place in the grid decides marker and line."""
    return line_look(name, names) | {"color": frameworks.load(name).COLOUR}


# From dark to light, as they stand in a bar; hatches tell neighbours apart where a printer has few greys.
OPERATION_LOOKS = {
    PRODUCTS: {"facecolor": "#14213d"},
    TRANSPOSES: {"facecolor": "#c4571b", "hatch": "////"},
    REDUCTIONS: {"facecolor": "#5fae97"},
    ELEMENTWISE: {"facecolor": "#d9b44a", "hatch": "...."},
    LIBRARY: {"facecolor": "#cfcfcf"},
    DISPATCH: {"facecolor": "white"},
}
"""Of each class of operations: its bar."""


_STEPS = [
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 5, 7),
    (1, 1.2, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
]


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from ``low`` to ``high`` for a log axis, with at most ``most``."""
    best: list[float] = []
    for steps in _STEPS:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [s * 10.0**p for p in powers for s in steps if low <= s * 10.0**p <= high]
        if len(best) < len(ticks) <= most:
            best = ticks
    return best
