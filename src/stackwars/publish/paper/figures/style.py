"""The look of every figure, and how it becomes a file: vector PDF, the same bytes from the same input."""

from __future__ import annotations

import math
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

COLUMN = 3.45  # inches: the width of an IEEEtran column, so that text keeps its size in print
PAGE = 7.1
GREY = "#e6e6e6"

RC: dict[str, Any] = {
    # Both ship with matplotlib. STIX goes with the paper's Times; it has no arrows.
    "font.family": ["STIXGeneral", "DejaVu Sans"],
    "font.size": 8,
    "text.parse_math": False,  # a title may hold a dollar sign
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
    "lines.markersize": 3.6,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,  # TrueType, as publishers ask; Type 3 is refused by some
}

LOOKS: list[dict[str, Any]] = [
    {"color": "#14213d", "marker": "o", "linestyle": "-"},
    {"color": "#c4571b", "marker": "s", "linestyle": "--"},
    {"color": "#388e77", "marker": "^", "linestyle": ":"},
    {"color": "#a8579f", "marker": "D", "linestyle": "-."},
]
"""Lines and marks of a figure: they differ in shape too, and each has a contrast of 3 to 1 with white."""

_STEPS = [
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 5, 7),
    (1, 1.2, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
]


def line_look(name: str, names: list[str]) -> dict[str, Any]:
    """Return how one of several things is drawn, by its place among them."""
    return dict(LOOKS[names.index(name) % len(LOOKS)])


def label_rows(axis: Axes, labels: list[str]) -> None:
    """Put a labelled row for each of these on an axis, from the top, with a band behind every second one."""
    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(max(1, len(labels)) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    for y in range(1, len(labels), 2):
        axis.axhspan(y - 0.5, y + 0.5, color="#f3f3f3", linewidth=0, zorder=0)


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from ``low`` to ``high`` for a log axis, with at most ``most``."""
    best: list[float] = []
    for steps in _STEPS:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [s * 10.0**p for p in powers for s in steps if low <= s * 10.0**p <= high]
        if len(best) < len(ticks) <= most:
            best = ticks
    return best


def panels(
    count: int, across: int, inches: float, around: float, **shared: Any
) -> tuple[plt.Figure, np.ndarray]:
    """Return a figure as wide as the page with so many panels, and the axes of its rows.

    inches: the height of a row of panels. around: the height of what stands above and below them.
    """
    down = max(1, math.ceil(count / across))
    size = (PAGE, around + inches * down)
    figure, axes = plt.subplots(down, across, figsize=size, squeeze=False, **shared)
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, axes


def draw_legend(figure: plt.Figure, looks: Iterable[tuple[str, dict]], columns: int, **spacing: float) -> None:
    """Write a legend above a figure. looks: a label and how it is drawn."""
    handles = [plt.Line2D([], [], label=label, **look) for label, look in looks]
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, **spacing)


def set_log_scale(axis: Axes, side: str, low: float, high: float, most: int) -> None:
    """Make the side "x" or "y" logarithmic from low to high, with at most so many round ticks and no minor ones."""
    getattr(axis, f"set_{side}scale")("log")
    getattr(axis, f"set_{side}lim")(low, high)
    ticks, scale = round_ticks(low, high, most), getattr(axis, f"{side}axis")
    scale.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    scale.set_minor_locator(plt.NullLocator())


def set_ratio_scale(axis: Axes, rows: pd.DataFrame) -> None:
    """Put ratios with their intervals on the left side, from 0.8 to 1.25 at least, with a line at 1."""
    axis.axhline(1, color="black", linewidth=0.6, zorder=0)
    shown = rows[["ratio", "low", "high"]]
    ends = min(0.8, shown.min(axis=None)), max(1.25, shown.max(axis=None))
    set_log_scale(axis, "y", ends[0] / 1.05, ends[1] * 1.05, most=5)


def draw_ratio_line(axis: Axes, places: Sequence, rows: pd.DataFrame, look: dict[str, Any]) -> None:
    """Draw ratios at these places as a line, with a band for their intervals."""
    low, high = (rows[end].fillna(rows["ratio"]) for end in ("low", "high"))
    axis.fill_between(places, low, high, color=look["color"], alpha=0.18, linewidth=0)
    axis.plot(places, rows["ratio"], **look)


def save(draw: Callable[[], dict[str, plt.Figure]], output: Path) -> None:
    """Write every figure that `draw` returns to <name>.pdf of a folder."""
    output.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(RC):
        for name, figure in draw().items():
            # No date in the file: the same results give the same bytes.
            figure.savefig(output / f"{name}.pdf", metadata={"CreationDate": None})
            plt.close(figure)


FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""


def draw_graphs(texts: Path, output: Path) -> None:
    """Write graph-<name>.pdf for every <name>.dot of a folder, as Graphviz lays it out.

    It has the other figures' font, which matplotlib brings: a machine may have no other.
    """
    with tempfile.TemporaryDirectory() as cache:
        settings = Path(cache, "fonts.conf")
        settings.write_text(FONTS.format(fonts=Path(matplotlib.get_data_path(), "fonts", "ttf"), cache=cache))
        for path in sorted(texts.glob("*.dot")):
            picture = subprocess.run(
                ["dot", "-Tpdf"],
                input=path.read_text(encoding="utf-8").replace("FONT", RC["font.family"][0]).encode(),
                stdout=subprocess.PIPE,
                env=os.environ | {"FONTCONFIG_FILE": str(settings)},
                check=True,
            ).stdout
            # Graphviz cannot leave its date out: the same results give the same bytes.
            dated = re.sub(rb"(?<=/CreationDate \(D:)\d{14}", b"20000101000000", picture)
            Path(output, f"graph-{path.stem}.pdf").write_bytes(dated)
