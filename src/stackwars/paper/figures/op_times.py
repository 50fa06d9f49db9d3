"""Where the time of replayed programs goes: bars of classes of operations, a panel per compiler."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.patches import Patch

from stackwars.compilers.op_classes import CLASSES
from stackwars.frameworks import title
from stackwars.paper.figures.style import OPERATION_LOOKS, PAGE
from stackwars.results.names import by_age, compiler_title
from stackwars.study.comparisons import Comparison

_EDGE = {"edgecolor": "#333333", "linewidth": 0.3}
_LINE = 0.14  # inches from one bar to the next
_APART = 0.5  # bars' heights between two workloads
WIDEST = 5
"""The axis ends at this multiple of the baseline's call; longer bars are cut, with their length beside them."""
INCONSISTENT = "\N{DAGGER}"
"""After a bar whose classes do not add up to the timed call."""
NO_PROFILE = "no profile"


def draw_op_times(profile: pd.DataFrame, pair: Comparison) -> plt.Figure:
    """Draw the profiled call of each program of a pair over that of the baseline's in the same compiler."""
    shown = profile[profile["framework"].isin(pair.sides)]
    places = _places(shown, pair)
    panels = by_age(shown["compiler"]) or [""]
    size = (PAGE, 0.95 + _LINE * (max(places.values(), default=3) + 1))
    figure, axes = plt.subplots(1, len(panels), figsize=size, sharex=True, sharey=True, squeeze=False)
    first = axes[0][0]
    first.set_yticks(list(places.values()), [_label(key, shown, pair) for key in places])
    first.set_ylim(max(places.values(), default=1) + 0.7, -0.7)
    longest = [
        _bars(axis, shown[shown["compiler"] == one], places, pair)
        for axis, one in zip(axes[0], panels, strict=True)
    ]
    first.set_xlim(0, min(WIDEST, max(longest) * 1.04))
    handles = [Patch(label=CLASSES[name], **look, **_EDGE) for name, look in OPERATION_LOOKS.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, handlelength=1.4, columnspacing=1.2)
    return figure


def _places(shown: pd.DataFrame, pair: Comparison) -> dict[tuple[str, str], float]:
    """Return {(workload, framework): where its bars stand}, those of a workload together."""
    pairs = [(workload, side) for workload in shown["workload"].drop_duplicates() for side in pair.sides]
    return {key: number + _APART * (number // 2) for number, key in enumerate(pairs)}


def _label(key: tuple[str, str], shown: pd.DataFrame, pair: Comparison) -> str:
    """Return the framework, after the workload if it is the baseline's."""
    workload, framework = key
    if framework != pair.baseline:
        return title(framework)
    name = shown.loc[shown["workload"] == workload, "title"].iloc[0]
    return f"{name},  {title(framework)}"


def _bars(axis: plt.Axes, rows: pd.DataFrame, places: dict, pair: Comparison) -> float:
    """Draw one compiler's bars; return the length of the longest."""
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(f"time over that of {title(pair.baseline)}'s program")
    axis.set_title(compiler_title(rows["compiler"].iloc[0]) if len(rows) else NO_PROFILE)
    axis.axvline(1, color="black", linewidth=0.6, zorder=0)
    totals = rows.groupby(["workload", "framework"])["ms"].sum()
    longest = 1.0
    for (workload, framework), y in places.items():
        if (workload, pair.baseline) not in totals.index or (workload, framework) not in totals.index:
            if framework == pair.baseline:
                axis.text(0.03, y + 0.5, NO_PROFILE, style="italic", va="center", fontsize=7)
            continue
        one = rows[(rows["workload"] == workload) & (rows["framework"] == framework)]
        left = _bar(axis, y, one.set_index("class")["ms"] / totals[workload, pair.baseline])
        longest = max(longest, left)
        mark = "" if one["profile_consistent"].iloc[0] is True else INCONSISTENT
        text = f"{left:.1f}{mark}" if left > WIDEST else mark
        place = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
        axis.annotate(text, (min(left, WIDEST), y), (2, 0), fontsize=7, **place)
    return longest


def _bar(axis: plt.Axes, y: float, shares: pd.Series) -> float:
    """Draw the classes of one program as one bar; return its length."""
    left = 0.0
    for name, look in OPERATION_LOOKS.items():
        axis.barh(y, shares[name], 0.8, left, **look, **_EDGE)
        left += shares[name]
    return left
