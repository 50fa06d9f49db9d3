"""The matrix: every frontend's program through every compiler, a panel a workload."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import pandas

from stackwars.frameworks import title
from stackwars.paper.figures.heat import draw_heat
from stackwars.paper.style import PAGE
from stackwars.results.read_compilers import compiler_title

REFUSED = {"unsupported": "unsup-\nported"}
"""In the matrix most often the compiler's word, where it is the framework's elsewhere."""
ACROSS = 5
"""Panels beside each other."""


def draw_matrix(matrix: pandas.DataFrame) -> plt.Figure:
    """Rows frontends, columns compilers: the time of a program over that with its fastest compiler."""
    names = dict(zip(matrix["workload"], matrix["title"], strict=True))
    frontends = list(matrix["framework"].drop_duplicates())
    compilers = list(matrix["compiler"].drop_duplicates())
    down = max(1, math.ceil(len(names) / ACROSS))
    figure, axes = plt.subplots(
        down,
        ACROSS,
        figsize=(PAGE, 0.75 + down * (0.25 + 0.19 * max(1, len(frontends)))),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    for axis, (workload, name) in zip(axes.flat, names.items(), strict=False):
        own = matrix[matrix["workload"] == workload]
        values, states = (
            own.pivot_table(index="framework", columns="compiler", values=column, aggfunc="first")
            .reindex(index=frontends, columns=compilers)
            .rename(index=title, columns=compiler_title)
            for column in ("over_best", "status")
        )
        draw_heat(axis, values, states.fillna("not run").replace(REFUSED))
        axis.set_title(f"{name}{'' if own['run'].eq('').all() else ' *'}")
    return figure
