"""Draw the time of programs in releases of a compiler, relative to the newest release."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd

from stackwars.frameworks import title
from stackwars.paper.figures.style import LOOKS, PAGE, set_round_ticks
from stackwars.results.names import compiler_title

MISSING = "no program was timed"
_PANEL = 1.45  # inches: the height of a panel
_COLUMNS = 5


def draw_releases(table: pd.DataFrame, project: str) -> plt.Figure:
    """Draw a panel for each workload, the oldest release at the left, with the interval of the ratio to the newest."""
    rows = table[table["project"] == project]
    versions = list(dict.fromkeys(rows["version"]))[::-1]
    timed = [version for version in versions if rows.loc[rows["version"] == version, "ratio"].notna().any()]
    workloads = list(dict.fromkeys(rows["workload"]))
    height = max(1, -(-len(workloads) // _COLUMNS))
    figure, axes = plt.subplots(
        height, _COLUMNS, figsize=(PAGE, 0.4 + _PANEL * height), sharex=True, squeeze=False
    )
    flat = axes.ravel()
    for axis in flat[len(workloads) :]:
        axis.axis("off")
    for axis, workload in zip(flat, workloads, strict=False):
        _panel(axis, rows[rows["workload"] == workload], timed)
    if not workloads:
        flat[0].text(0, 0.5, MISSING, style="italic")
    handles = dict(zip(*flat[0].get_legend_handles_labels()[::-1], strict=True))
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4)
    for axis in axes[-1]:
        axis.set_xlabel(f"{compiler_title(project).strip()} release")
    return figure


def _panel(axis: plt.Axes, rows: pd.DataFrame, versions: list[str]) -> None:
    axis.set_title(rows["title"].iloc[0])
    axis.axhline(1, color="black", linewidth=0.6, zorder=0)
    axis.set_xticks(range(len(versions)), versions, rotation=90)
    axis.set_yscale("log")
    shown = []
    for look, (framework, own) in zip(LOOKS, rows.groupby("framework", sort=False), strict=False):
        ok = own[own["ratio"].notna()]
        places = [versions.index(version) for version in ok["version"]]
        low, high = (ok[end].fillna(ok["ratio"]) for end in ("low", "high"))
        axis.fill_between(places, low, high, color=look["color"], alpha=0.18, linewidth=0)
        axis.plot(places, ok["ratio"], label=title(framework), **look)
        shown += [*low, *high]
        wrong = own[own["status"].isin(("wrong", "crash")) & own["version"].isin(versions)]
        crosses = [versions.index(version) for version in wrong["version"]]
        if crosses:  # an empty line that is not clipped has the figure's corner in its box
            axis.plot(crosses, [1.0] * len(crosses), "x", color=look["color"], clip_on=False)
    ends = min([*shown, 0.8]) / 1.05, max([*shown, 1.25]) * 1.05
    axis.set_ylim(ends)
    set_round_ticks(axis.yaxis, *ends, most=5)
