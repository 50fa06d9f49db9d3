"""The figure of the first page: how much of the time is due to frontend, compiler and their interaction."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas

from stackwars.paper.style import COLUMN
from stackwars.results.matrix import BOTH, COMPILER, FRONTEND
from stackwars.results.values import is_missing

ALL = "all"
LOOKS = {
    FRONTEND: {"facecolor": "#14213d"},
    BOTH: {"facecolor": "#e6e6e6", "hatch": "////"},
    COMPILER: {"facecolor": "#d9b44a"},
}
"""From left to right. Dark, hatched and light: they stay apart in grey print."""
LABELS = {FRONTEND: "frontend", BOTH: "interaction", COMPILER: "compiler"}
_EDGE = {"edgecolor": "#333333", "linewidth": 0.4}


def draw_headline(effects: pandas.DataFrame, titles: dict[str, str]) -> plt.Figure:
    """A bar a workload, and one over all: the shares of the variance of the logarithm of a program's time.

    The frontend's share begins at the left, with the whisker of its 95 % interval on the lower half of the bar;
    the compiler's at the right, with its whisker on the upper half. Noise is taken out of a share, which may
    then be below 0: it is drawn as 0. titles: of workloads.
    """
    order = [w for w in titles if w in set(effects["workload"])]
    names = [*order, *([ALL] if ALL in set(effects["workload"]) else [])]
    figure, axis = plt.subplots(figsize=(COLUMN, 0.8 + 0.165 * max(4, len(names))))
    axis.set_xlim(0, 1)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    axis.set_xlabel("share of the variance of log time (%)")
    if not names:
        axis.set_yticks([])
        axis.text(0.02, 0.5, "no block of the matrix is complete", style="italic")
        return figure
    places = [n + (0.4 if name == ALL else 0.0) for n, name in enumerate(names)]
    labels = []
    for y, name in zip(places, names, strict=True):
        rows = effects[effects["workload"] == name].set_index("effect")
        elsewhere = name != ALL and str(rows["run"].iloc[0]) not in ("", "nan")
        labels.append(
            "all workloads" if name == ALL else f"{titles[name]}{' *' if elsewhere else ''}"
        )
        _bar(axis, y, rows)
    axis.set_yticks(places, labels)
    axis.set_ylim(places[-1] + 0.6, -0.6)
    axis.tick_params(axis="y", length=0)
    handles = [
        plt.Rectangle((0, 0), 1, 1, label=LABELS[n], **look, **_EDGE) for n, look in LOOKS.items()
    ]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=3, handlelength=1.2, columnspacing=1.0
    )
    return figure


def _bar(axis: plt.Axes, y: float, rows: pandas.DataFrame) -> None:
    shares = {name: max(0.0, float(rows.loc[name, "share"])) for name in LOOKS}
    whole, left = sum(shares.values()) or 1.0, 0.0
    for name, look in LOOKS.items():
        width = shares[name] / whole
        axis.barh(y, width, 0.72, left, **look, **_EDGE)
        left += width
    # One on the lower, one on the upper half of the bar, for both may reach over the same stretch; white below
    # black, so that each is seen on every shade.
    for name, height, place in (
        (FRONTEND, 0.18, lambda share: share),
        (COMPILER, -0.18, lambda share: 1 - share),
    ):
        ends = [rows.loc[name, "share_low"], rows.loc[name, "share_high"]]
        if any(map(is_missing, ends)):
            continue
        span = [place(min(1.0, max(0.0, float(end)))) for end in ends]
        for colour, width in (("white", 1.6), ("black", 0.7)):
            axis.plot(span, [y + height] * 2, color=colour, linewidth=width, solid_capstyle="butt")
