"""Draw heat maps of times over the best: every stack on every workload, and every program in every compiler."""

from __future__ import annotations

import math
import textwrap
from string import ascii_lowercase

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.colors import LogNorm

from stackwars.core import numbers
from stackwars.core.outcome import Status
from stackwars.measure.frameworks import title
from stackwars.publish.paper.figures.style import PAGE, panels
from stackwars.study.results.names import compiler_title

COLOURS = "YlOrBr"  # from light to dark: the order is kept in grey print
DARK = 0.54
"""Share of the logarithmic scale from which a cell is dark enough for white numbers."""
SCALE_SHARE, SCALE_LEAST, SCALE_MOST = 0.95, 4.0, 10.0
"""The colours of a figure end at the factor that this share of its cells does not exceed, within these bounds."""
SHORT = {Status.UNSUPPORTED: "\N{EN DASH}", Status.NOT_RUN: "", "": ""}
"""Text of a cell without a number, if it is not its status."""
SIGNS = {
    SHORT[Status.UNSUPPORTED]: "Dash: the frontend has no program, or the compiler refuses it.",
    "": "Empty: not measured.",
}
UNREMARKABLE = 1.5
"""A workload none of whose programs takes longer than this over the fastest one has no panel."""


def draw_stacks(cells: pd.DataFrame) -> plt.Figure:
    """Draw the steady time of every framework over the fastest one of the workload.

    cells: native rows of cells.csv on one device; a workload on which nothing ran is left out.
    """
    cells = over_best(cells)
    names = dict(zip(cells["workload"], cells["title"], strict=True))
    frameworks = list(cells["framework"].drop_duplicates())
    figure, axis = plt.subplots(figsize=(PAGE, 0.8 + 0.15 * max(1, len(frameworks))))
    values, states = _tables(cells, "workload", frameworks, list(names))
    _heat(axis, values.rename(index=title), states, _scale(cells))
    axis.set_xticks(range(len(names)), list(names.values()), rotation=40, ha="right", rotation_mode="anchor")
    _legend(figure)
    return figure


def draw_matrix(cells: pd.DataFrame) -> plt.Figure:
    """Draw the time of every program in every compiler over the least of the workload: a panel a workload.

    cells: replay rows of cells.csv. Columns are compilers, by letters that stand above the panels.
    """
    compilers = list(cells["compiler"].drop_duplicates())
    cells = over_best(cells)
    frameworks = list(cells["framework"].drop_duplicates())
    names, left_out = _panels(cells)
    height = 0.25 + 0.15 * max(1, len(frameworks))
    figure, axes = panels(len(names), 4, height, 0.55, sharex=True, sharey=True)
    letters = ascii_lowercase[: len(compilers)]
    for axis, (workload, name) in zip(axes.flat, names.items(), strict=False):
        values, states = _tables(cells[cells["workload"] == workload], "compiler", frameworks, compilers)
        _heat(axis, values.rename(index=title), states, _scale(cells))
        axis.set_xticks(range(len(letters)), letters)
        axis.set_title(name)
    named = (f"{letter}  {compiler_title(one)}" for letter, one in zip(letters, compilers, strict=True))
    figure.suptitle("          ".join(named), fontsize=8)
    _legend(figure, f"Not drawn, nothing above {UNREMARKABLE}: {'; '.join(left_out)}." if left_out else "")
    return figure


def _legend(figure: plt.Figure, text: str = "") -> None:
    """Write a text below a figure, and what its cells without a number mean, if it has such cells."""
    drawn = {one.get_text() for axis in figure.axes for one in axis.texts}
    signs = [meaning for sign, meaning in SIGNS.items() if sign in drawn]
    figure.supxlabel(textwrap.fill(" ".join(filter(None, [text, *signs])), 150), fontsize=7.5)


def over_best(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells with `over_best`, the steady time over the least one of the workload.

    Workloads without any time are left out.
    """
    cells = cells.assign(over_best=cells["steady_ms"] / cells.groupby("workload")["steady_ms"].transform("min"))
    return cells[cells.groupby("workload")["over_best"].transform("count") > 0]


def _panels(cells: pd.DataFrame) -> tuple[dict[str, str], list[str]]:
    """Return {workload: title} of those that have a panel, and the titles of the others; all if none would have one."""
    titles = dict(zip(cells["workload"], cells["title"], strict=True))
    worst = cells.groupby("workload")["over_best"].max()
    shown = {workload: name for workload, name in titles.items() if worst[workload] > UNREMARKABLE}
    return (shown, [name for name in titles.values() if name not in shown.values()]) if shown else (titles, [])


def _tables(
    cells: pd.DataFrame, across: str, index: list[str], columns: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return factors and statuses, a row per framework."""
    wide = cells.drop_duplicates(["framework", across])
    values, states = (
        wide.pivot(index="framework", columns=across, values=name).reindex(index=index, columns=columns)
        for name in ("over_best", "status")
    )
    return values, states.fillna(Status.NOT_RUN).replace(SHORT)


def _scale(cells: pd.DataFrame) -> float:
    values = cells["over_best"].dropna()
    most = float(values.quantile(SCALE_SHARE)) if len(values) else SCALE_LEAST
    return min(SCALE_MOST, max(SCALE_LEAST, most))


def _heat(axis: plt.Axes, values: pd.DataFrame, states: pd.DataFrame, limit: float) -> None:
    """Draw factors, rows and columns as in the table, as colours and numbers; without a factor its status."""
    if values.empty:
        axis.set_axis_off()
        return
    # A mesh, not an image: a figure is vectors alone.
    rows, columns = values.shape
    edges = [[number - 0.5 for number in range(count + 1)] for count in (columns, rows)]
    axis.pcolormesh(*edges, values.to_numpy(float), cmap=COLOURS, norm=LogNorm(1, limit))
    axis.set_ylim(rows - 0.5, -0.5)
    axis.set_facecolor("#eeeeee")
    axis.set_yticks(range(rows), values.index)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    for row in range(rows):
        for column in range(columns):
            value = values.iat[row, column]
            known = not pd.isna(value)
            is_dark = known and math.log(value) >= DARK * math.log(limit)
            look = {"fontsize": 6.5 if known else 6, "color": "white" if is_dark else "black"}
            text = ("1" if value < 1.005 else numbers.ratio(value)) if known else states.iat[row, column]
            axis.text(column, row, text, ha="center", va="center_baseline", **look)
