"""Draw ratios: a row per workload and a mark with its interval per series, on a logarithmic axis.

`python -m stackwars.publish.paper.figures.ratios` draws docs/answer.png, the figure of the README, from the committed
comparisons of the reference, as `make accept` does. The file holds the numbers that it shows.
"""

from __future__ import annotations

import itertools
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

from stackwars.core.launch import REPOSITORY
from stackwars.core.numbers import percent
from stackwars.measure.frameworks import title
from stackwars.publish.paper.figures.style import COLUMN, RC, draw_legend, label_rows, line_look, set_log_scale
from stackwars.setup.device import CPU
from stackwars.study.config import load
from stackwars.study.results import runs, schema
from stackwars.study.results.comparisons import EACH_KIND, LARGE
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.programs import compiler_title
from stackwars.study.results.runs import REFERENCE
from stackwars.study.results.verdicts import DECIDED, OPPOSITE
from stackwars.study.studies import PROGRAMS, Comparison, comparisons

MATRIX, TABLES = "matrix", "tables"
REACH = 1.5
"""The axis reaches this factor beyond the outermost ratios; an interval that is longer is cut there."""
HALF = {"fillstyle": "left", "markerfacecoloralt": "white"}
"""Look of a ratio that kinds of machine have on either side of 1."""
FILLS = ("full", "none", "left")
"""Marks of the kinds of machine, the fastest first."""
PICTURE = Path("docs", "answer.png")
NUMBERS = "Comment"
"""The text of the picture that holds its numbers."""
THIS_RUN, BEHIND = "this run", "#9a9a9a"
"""The kind of machine of the ratios that are drawn over the reference's, and the colour of those."""
FACTORS = {
    schema.NATIVE_CALLS: "native ratio",
    schema.REPLAY: "program (replay)",
    schema.EVERYTHING_ELSE: "everything else",
}
"""A native ratio is the product of the two below it."""


@dataclass(frozen=True)
class Series:
    """Ratios with one look: rows have workload, ratio, low, high and verdict, as comparisons.csv."""

    label: str
    rows: pd.DataFrame
    look: dict[str, Any]


def _draw(
    rows: pd.DataFrame,
    series: list[Series],
    label: str,
    ends: tuple[str, str],
    columns: int,
    row_inches: float = 0.21,
    hollow: bool = False,
) -> plt.Figure:
    """Draw a row for each workload of these comparisons, and say in rows without a mark that there is no ratio.

    label: of the axis. ends: what a ratio below 1 means, and one above 1. columns: of the legend. hollow: whether a
    mark is filled only if its verdict is slower or faster, and half if machines have it on either side of 1. Series
    with one marker share a line of a row; one without a label is not in the legend. A ratio has a mark for each kind of
    machine.
    """
    titles = dict(zip(rows["workload"], rows["title"], strict=True))
    figure, axis = plt.subplots(figsize=(COLUMN, 0.85 + row_inches * max(3, len(titles))))
    known = [Series(one.label, one.rows.dropna(subset=["ratio"]), one.look) for one in series]
    label_rows(axis, list(titles.values()))
    axis.axvline(1, color="black", linewidth=0.8, zorder=1)
    ratios = [1.0, *(kind["ratio"] for one in known for row in one.rows.itertuples() for kind in _kinds(row))]
    low, high = min(ratios) / REACH, max(ratios) * REACH
    set_log_scale(axis, "x", low, high, most=7)
    step = 0.8 / max(1, len({one.look["marker"] for one in known}))
    has_half = False
    for place, workload in enumerate(titles):
        here = [(row, one.look) for one in known for row in one.rows.itertuples() if row.workload == workload]
        lines = list(dict.fromkeys(look["marker"] for _, look in here))
        for row, look in here:
            y = place + step * (lines.index(look["marker"]) - (len(lines) - 1) / 2)
            look = look | {"linestyle": "none"}
            if hollow and row.verdict == OPPOSITE:
                look |= HALF
                has_half = True
            elif hollow and row.verdict not in DECIDED:
                look["markerfacecolor"] = "white"
            for one in _kinds(row):
                _interval(axis, y, (one["low"], one["high"]), (low, high), look["color"])
                axis.plot(one["ratio"], y, **look)
        if not here:
            look = {"style": "italic", "va": "center", "transform": axis.get_yaxis_transform()}
            axis.text(0.02, place, "no ratio", **look)
    _say_ends(axis, *ends)
    axis.set_xlabel(label)
    looks = [(one.label, one.look) for one in series if one.label]
    if has_half:
        looks.append(("kinds of machine differ in sign", {"color": "black", "marker": "o", **HALF}))
    marks = ((label, look | {"linestyle": "none"}) for label, look in looks)
    draw_legend(figure, marks, columns, handlelength=1.0, handletextpad=0.4, columnspacing=1.4)
    return figure


def _kinds(row: tuple) -> list[dict]:
    """Return the ratio of a row and its ends, on each kind of machine that it has."""
    return getattr(row, EACH_KIND, None) or [row._asdict()]


def _interval(
    axis: plt.Axes, y: float, ends: tuple[float, float], limits: tuple[float, float], colour: str
) -> None:
    """Draw an interval, with an arrowhead where the axis cuts it."""
    shown = [max(ends[0], limits[0]), min(ends[1], limits[1])]
    axis.plot(shown, [y, y], color=colour, linewidth=1.0, solid_capstyle="butt")
    heads = {"linestyle": "none", "color": colour, "markersize": 3, "clip_on": False}
    if ends[0] < limits[0]:
        axis.plot(limits[0], y, marker="<", **heads)
    if ends[1] > limits[1]:
        axis.plot(limits[1], y, marker=">", **heads)


def _say_ends(axis: plt.Axes, below: str, above: str) -> None:
    ends = ((0, "left", f"\N{LEFTWARDS ARROW} {below}"), (1, "right", f"{above} \N{RIGHTWARDS ARROW}"))
    for x, side, text in ends:
        look = {"ha": side, "va": "top", "fontsize": 7.5, "style": "italic"}
        axis.annotate(text, (x, 0), (0, -15), "axes fraction", "offset points", **look)
    axis.xaxis.labelpad = 12


def draw_compilers(rows: pd.DataFrame, pair: Comparison, compilers: list[str]) -> plt.Figure:
    """Draw the replay ratios of a pair's programs: a row a workload, a mark a compiler and kind of machine.

    rows: of `replays`; THIS_RUN is in colour, over the others in grey. A workload whose ratios are all near 1
    is named below instead.
    """
    machines = runs.by_speed(set(rows["machine"]) - {THIS_RUN})
    has_own = THIS_RUN in set(rows["machine"])
    is_far = (rows["ratio"] > LARGE) | (rows["ratio"] < 1 / LARGE)
    shown = rows[rows["workload"].isin(rows[is_far]["workload"])]
    near = rows[~rows["workload"].isin(shown["workload"])]
    series = []
    marks = [*enumerate(machines), (0, THIS_RUN)]
    for compiler, (place, machine) in itertools.product(compilers, marks):
        here = shown[(shown["compiler"] == compiler) & (shown["machine"] == machine)]
        look = line_look(compiler, compilers) | {"fillstyle": FILLS[place % len(FILLS)]}
        if len(here):
            is_behind = has_own and machine != THIS_RUN
            is_first = not is_behind and compiler_title(compiler) not in [one.label for one in series]
            look |= {"color": BEHIND} if is_behind else {}
            series.append(Series(compiler_title(compiler) if is_first else "", here, look))
    base, subject = map(title, pair.sides)
    label = f"replay of {subject}'s program over that of {base}'s"
    ends = (f"{subject}'s program faster", f"{base}'s program faster")
    figure = _draw(shown, series, label, ends, columns=2, row_inches=0.3)
    words = dict(zip(FILLS, ("Filled", "Hollow", "Half"), strict=True))
    filled = zip(FILLS, machines, strict=False) if len(machines) > 1 else ()
    texts = [f"{words[fill]}: {machine}." for fill, machine in filled]
    if has_own:
        texts.insert(0, "In colour: this run. In grey: the reference.")
    if len(near):
        names = "; ".join(near["title"].drop_duplicates())
        texts.append(f"Not drawn, within {percent(LARGE - 1)} of 1: {names}.")
    figure.supxlabel(textwrap.fill(" ".join(texts), 76, break_on_hyphens=False), fontsize=7)
    return figure


def draw_ratios(rows: pd.DataFrame, baseline: str) -> plt.Figure:
    """Draw steady ratios over a baseline: a row a workload, a mark a subject, filled if a direction is claimed.

    rows: comparisons of the quantity steady.
    """
    subjects = list(rows.dropna(subset=["ratio"])["subject"].drop_duplicates())
    looks, base = [baseline, *subjects], title(baseline)
    series = [Series(title(s), rows[rows["subject"] == s], line_look(s, looks)) for s in subjects]
    ends = (f"faster than {base}", f"{base} faster")
    return _draw(rows, series, f"steady-state latency over {base}'s", ends, columns=3, hollow=True)


def draw_split(rows: pd.DataFrame, pair: Comparison) -> plt.Figure:
    """Draw a pair's native ratio and its two factors: a row a workload.

    rows: comparisons of the quantities of FACTORS; of the two factors those in the compiler that both use natively.
    """
    looks = list(FACTORS)
    series = [Series(FACTORS[q], rows[rows["quantity"] == q], line_look(q, looks)) for q in looks]
    base, subject = map(title, pair.sides)
    ends = (f"{subject} faster", f"{base} faster")
    return _draw(rows, series, f"{subject} over {base}", ends, 3, row_inches=0.24)


def replays(data: Dataset) -> tuple[pd.DataFrame, Comparison]:
    """Return the replay ratios of the programs that are compared first, and the two sides.

    In the reference each kind of machine has a row, the fastest kind first: `machine` has its short name.
    """
    pair = comparisons(data.config, PROGRAMS)[0]
    where = {"quantity": schema.REPLAY, "device": CPU, "subject": pair.subject, "baseline": pair.baseline}
    pooled = data.comparisons(**where).dropna(subset=["ratio"])
    studies = [data.study(name).workloads for name in (TABLES, MATRIX) if name in data.config.studies]
    pooled = pooled[pooled["workload"].isin({name for names in studies for name in names})]
    each = [row for kinds in pooled[EACH_KIND] for row in kinds]
    rows = pd.DataFrame(each, columns=pooled.columns.drop(EACH_KIND))
    names = runs.short_names(rows["machine"])
    titles = {kind: f"machines of {name}" if name[:1].isdigit() else name for kind, name in names.items()}
    return rows.assign(machine=rows["machine"].map(titles)), pair


def draw_answer(data: Dataset, run: Dataset | None = None) -> plt.Figure:
    """Draw Figure 1 of the paper.

    run: its ratios are drawn over the reference's, in the compilers that it measured.
    """
    (rows, pair), compilers = replays(data), list(data.study(MATRIX).compilers)
    if run:
        ours = replays(run)[0].assign(machine=THIS_RUN)
        is_same = (ours["subject"] == pair.subject) & (ours["baseline"] == pair.baseline)
        ours = ours[is_same & ours["compiler"].isin(compilers)]
        rows = pd.concat([rows[rows["compiler"].isin(ours["compiler"])], ours]) if len(ours) else rows
    return draw_compilers(rows, pair, compilers)


def write_answer(repository: Path, reference: Path) -> None:
    """Draw the picture of the README from the tables of the reference in a folder."""
    data = Dataset(load(), reference, is_reference=True)
    shown = replays(data)[0][["workload", "compiler", "machine", "ratio", "low", "high"]]
    numbers = shown.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    with plt.rc_context(RC):
        figure = draw_answer(data)
        (repository / PICTURE).parent.mkdir(exist_ok=True)
        figure.savefig(repository / PICTURE, dpi=220, metadata={NUMBERS: numbers})
        plt.close(figure)


if __name__ == "__main__":
    write_answer(REPOSITORY, REFERENCE)
