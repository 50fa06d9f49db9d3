"""Where the time of every replayed program goes: bars of classes of operations, a panel per compiler."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas
from matplotlib.patches import Patch

from stackwars.compilers.op_classes import CLASSES
from stackwars.frameworks import title
from stackwars.paper.style import COLUMN, OPERATION_LOOKS, PAGE
from stackwars.results.read_cells import titles
from stackwars.results.read_compilers import compiler_title, compilers
from stackwars.results.values import is_true

_EDGE = {"edgecolor": "#333333", "linewidth": 0.3}
_LINE = 0.135  # inches from one bar to the next
_APART = 0.5  # bars' heights between two workloads
WIDEST = 5
"""The axis ends at this multiple of the baseline's call; longer bars are cut, with their length beside them."""
OFF = "\N{DAGGER}"
"""After a bar whose classes do not add up to the timed call."""


def draw_op_times(op_times: pandas.DataFrame, frameworks: list[str]) -> plt.Figure:
    """The profiled call of each framework's program over that of the first one's in the same compiler.

    frameworks: the baseline first, or none where none has a program; edited programs are not drawn. A star
    after a workload: profiled in an accepted run. A column wide for one compiler, else a page.
    """
    baseline = next(iter(frameworks), None)
    unit = f"that of {title(baseline)}'s program" if baseline else "the baseline's"
    shown = op_times[op_times.framework.isin(frameworks)]
    names, panels = titles(shown), compilers(shown) or [""]
    places = _places(shown, list(names), frameworks)
    size = (
        COLUMN if len(panels) == 1 else PAGE,
        0.95 + _LINE * (max(places.values(), default=3) + 1),
    )
    figure, axes = plt.subplots(
        1, len(panels), figsize=size, sharex=True, sharey=True, squeeze=False
    )
    first = axes[0][0]
    elsewhere = dict(zip(shown.workload, shown.run, strict=True))
    marked = {name: f"{text} *" if elsewhere[name] else text for name, text in names.items()}
    labels = {y: _label(key, marked, places) for key, y in places.items()}
    first.set_yticks(list(labels), list(labels.values()))
    first.set_ylim(max(labels, default=0) + 0.7, min(labels, default=0) - 0.7)
    longest = 1.0
    for axis, compiler in zip(axes[0], panels, strict=True):
        axis.tick_params(axis="y", length=0)
        axis.set_xlabel(f"time over {unit}")
        rows = shown[shown.compiler == compiler]
        longest = max(longest, _bars(axis, rows, places, baseline))
        if compiler:
            axis.set_title(compiler_title(compiler))
    # Room for the mark after the longest bar.
    first.set_xlim(0, min(WIDEST, longest * 1.04))
    if not places:
        first.text(0.02, 0.5, "no program was profiled", style="italic", transform=first.transAxes)
    handles = [
        Patch(label=CLASSES[name], **look, **_EDGE) for name, look in OPERATION_LOOKS.items()
    ]
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=2 if len(panels) == 1 else 3,
        handlelength=1.4,
        columnspacing=1.2,
    )
    return figure


def _places(
    shown: pandas.DataFrame, workloads: list[str], frameworks: list[str]
) -> dict[tuple[str, str], float]:
    """(workload, framework) -> where its bars stand, those of a workload together."""
    there = set(zip(shown.workload, shown.framework, strict=True))
    places, y = {}, 0.0
    for workload in workloads:
        for framework in frameworks:
            if (workload, framework) in there:
                places[workload, framework] = y
                y += 1
        y += _APART
    return places


def _label(key: tuple[str, str], names: dict[str, str], places: dict) -> str:
    """The framework, and before the first one of a workload its name."""
    workload, framework = key
    leads = next(f for w, f in places if w == workload) == framework
    return f"{names[workload]},  {title(framework)}" if leads else title(framework)


def _bars(axis, rows: pandas.DataFrame, places: dict, baseline: str) -> float:
    """Draw one compiler's; return how long the longest is."""
    axis.axvline(1, color="black", linewidth=0.6, zorder=0)
    longest = 1.0
    for workload, here in rows.groupby("workload", sort=False):
        whole = here.groupby("framework").ms.sum()
        if baseline not in whole.index:
            continue
        for framework, one in here.groupby("framework", sort=False):
            y, left = places[workload, framework], 0.0
            ms = one.set_index("class").ms
            for name, look in OPERATION_LOOKS.items():
                width = ms[name] / whole[baseline]
                axis.barh(y, width, 0.8, left, **look, **_EDGE)
                left += width
            longest = max(longest, left)
            marks = "" if is_true(one.adds_up.iloc[0]) else OFF
            if left > WIDEST:
                marks = f"{left:.1f}{marks}"
            axis.annotate(
                marks,
                (min(left, WIDEST), y),
                (2, 0),
                textcoords="offset points",
                va="center",
                annotation_clip=False,
                fontsize=7,
            )
    return longest
