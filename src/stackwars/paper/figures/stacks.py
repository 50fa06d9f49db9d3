"""Every stack beside the best of its workload: steady state, first run and peak memory."""

from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import pandas

from stackwars.frameworks import title
from stackwars.paper.figures.heat import draw_heat
from stackwars.paper.style import PAGE
from stackwars.results.stacks import QUANTITIES

WIDEST = 16
"""Characters on a line of a workload's name."""
NO_FORM = {"unsupported": "no form"}
TITLES = {"steady": "steady state", "first": "first run", "memory": "peak resident memory"}


def draw_stacks_over_best(
    stacks: pandas.DataFrame, quantities: tuple[str, ...] = QUANTITIES
) -> plt.Figure:
    """A panel a quantity: rows stacks, columns workloads, numbers over the best of the column."""
    names = dict(zip(stacks["workload"], stacks["title"], strict=True))
    elsewhere = set(stacks.loc[stacks["run"] != "", "workload"])
    shown = {
        w: textwrap.fill(name, WIDEST) + (" *" if w in elsewhere else "")
        for w, name in names.items()
    }
    frameworks = list(stacks["framework"].drop_duplicates())
    titled = len(quantities) > 1
    height = 0.3 * titled + (0.16 if titled else 0.14) * max(1, len(frameworks))
    size = (PAGE, 0.8 + len(quantities) * height)
    figure, axes = plt.subplots(len(quantities), 1, figsize=size, sharex=True, squeeze=False)
    for axis, quantity in zip(axes[:, 0], quantities, strict=True):
        values, states = (
            stacks.pivot_table(
                index="framework", columns="workload", values=column, aggfunc="first"
            )
            .reindex(index=frameworks, columns=list(names))
            .rename(index=title, columns=shown)
            for column in (f"{quantity}_over_best", "status")
        )
        draw_heat(axis, values, states.fillna("not run").replace(NO_FORM))
        if titled:
            axis.set_title(TITLES[quantity])
    return figure
