"""What the first call costs over a later one, against the size of the program, with the fitted lines."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas

from stackwars.frameworks import title
from stackwars.paper.style import PAGE, framework_look
from stackwars.paper.tables.growth import slope_text
from stackwars.results.verdicts import Finding


def draw_growth(growth: pandas.DataFrame, findings: list[Finding]) -> plt.Figure:
    """A panel a workload, both axes logarithmic; a point a process, a line the fit, whose slope stands below.

    findings: those of ``growth/...``.
    """
    ok = growth[growth["status"] == "ok"]
    names = dict(zip(ok["workload"], ok["title"], strict=True))
    fits = {f["id"].removeprefix("growth/"): f for f in findings}
    figure, axes = plt.subplots(1, max(1, len(names)), figsize=(PAGE, 3.0), squeeze=False)
    frameworks = list(ok["framework"].drop_duplicates())
    for axis, (workload, name) in zip(axes.flat, names.items(), strict=False):
        here = ok[ok["workload"] == workload].sort_values("value")
        for framework, rows in here.groupby("framework", sort=False):
            look = framework_look(framework, frameworks)
            values, seconds = rows["value"].astype(float), rows["compile_cost_ms"] / 1e3
            axis.plot(values, seconds, **{**look, "linestyle": ""}, label=title(framework))
            if fit := fits.get(f"{workload}/{framework}"):
                along = np.geomspace(values.min(), values.max(), 50)
                line = seconds.mean() + fit["slope"] / 1e3 * (along - values.mean())
                # A straight line may pass 0, which has no place on this axis.
                line = np.where(line > 0, line, np.nan)
                axis.plot(along, line, **{**look, "marker": ""}, label=slope_text(fit))
        axis.set_title(name, pad=2)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(
            sorted(set(here["value"])), [f"{v:.0f}" for v in sorted(set(here["value"]))]
        )
        axis.xaxis.set_minor_locator(plt.NullLocator())
        axis.set_xlabel(here["size"].iloc[0])
        lines = [line for line in axis.lines if not line.get_marker()]
        if lines:
            axis.legend(
                handles=lines,
                title="slope, ms for 1 more",
                loc="upper center",
                bbox_to_anchor=(0.5, -0.24),
                fontsize=7,
                title_fontsize=7,
                borderpad=0,
            )
    if names:
        axes.flat[0].set_ylabel("first call $-$ steady call (s)")
        # A framework may be in the later panels alone; lines without a marker have slopes for labels.
        marked = [line for axis in axes.flat for line in axis.lines if line.get_marker()]
        handles = list({line.get_label(): line for line in marked}.values())
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    else:
        axes.flat[0].text(0.5, 0.5, "not run", ha="center", va="center")
        axes.flat[0].set_axis_off()
    return figure
