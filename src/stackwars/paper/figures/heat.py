"""A heat map whose cells carry their numbers: times over the best, on a logarithmic scale of colours."""

from __future__ import annotations

import math

import pandas
from matplotlib.colors import LogNorm

COLOURS = "YlOrBr"  # from light to dark: the order is kept in grey print
WORST = 10.0
"""The colour of a factor ends here; the number does not."""
DARK = 3.5
"""From this factor on the cell is dark enough for white numbers."""


def draw_heat(axis, values: pandas.DataFrame, states: pandas.DataFrame, size: float = 6) -> None:
    """Draw factors (1 the best) with rows and columns as in the table; where there is none, its status.

    states: of the same shape, the words that stand in a cell without a number. size: of the numbers, in points.
    """
    # A mesh, not an image: a figure is vectors alone.
    rows, columns = values.shape
    edges = [[number - 0.5 for number in range(count + 1)] for count in (columns, rows)]
    axis.pcolormesh(*edges, values.to_numpy(float), cmap=COLOURS, norm=LogNorm(1, WORST))
    axis.set_ylim(rows - 0.5, -0.5)
    axis.set_facecolor("#eeeeee")
    axis.set_xticks(
        range(values.shape[1]), values.columns, rotation=45, ha="right", rotation_mode="anchor"
    )
    axis.set_yticks(range(values.shape[0]), values.index)
    axis.tick_params(length=0)
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value = values.iat[row, column]
            known = not pandas.isna(value)
            text = number(value) if known else states.iat[row, column]
            axis.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize=size if known else size - 1.5,
                color="white" if known and value >= DARK else "black",
            )


def number(value: float) -> str:
    """A factor in three characters or so: 1.0, 2.37, 14, 120."""
    if value < 1.005:
        return "1"
    return f"{value:.2f}" if value < 9.995 else f"{value:.{max(0, 1 - int(math.log10(value)))}f}"
