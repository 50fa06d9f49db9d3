"""What the first call costs over a later one, against the size of the program."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas

from stackwars.frameworks import title
from stackwars.paper.style import PAGE, framework_look


def draw_growth(growth: pandas.DataFrame) -> plt.Figure:
    """A panel a workload, both axes logarithmic; a line a framework, a point a process."""
    ok = growth[growth["status"] == "ok"]
    names = dict(zip(ok["workload"], ok["title"], strict=True))
    figure, axes = plt.subplots(1, max(1, len(names)), figsize=(PAGE, 2.1), squeeze=False)
    frameworks = list(ok["framework"].drop_duplicates())
    for axis, (workload, name) in zip(axes.flat, names.items(), strict=False):
        here = ok[ok["workload"] == workload].sort_values("value")
        for framework, rows in here.groupby("framework", sort=False):
            axis.plot(
                rows["value"],
                rows["compile_cost_ms"] / 1e3,
                label=title(framework),
                **framework_look(framework, frameworks),
            )
        axis.set_title(name, pad=2)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(
            sorted(set(here["value"])), [f"{v:.0f}" for v in sorted(set(here["value"]))]
        )
        axis.xaxis.set_minor_locator(plt.NullLocator())
        axis.set_xlabel(here["size"].iloc[0])
    if names:
        axes.flat[0].set_ylabel("first call $-$ steady call (s)")
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(handles))
    else:
        axes.flat[0].text(0.5, 0.5, "not run", ha="center", va="center")
        axes.flat[0].set_axis_off()
    return figure
