"""The native difference split into two terms, and both compilers' IR effect, a row per workload."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas

from stackwars.frameworks import title
from stackwars.paper.style import PAGE, line_look, round_ticks
from stackwars.results.read_cells import titles
from stackwars.results.read_compilers import compiler_title, compilers
from stackwars.study.comparisons import Comparison

TERMS = {
    "native_difference": "native difference",
    "ir_effect": "IR effect",
    "runtime_effect": "runtime effect",
}


def draw_split(replay: pandas.DataFrame, split: pandas.DataFrame, pair: Comparison) -> plt.Figure:
    """Left: the terms of subject - baseline, in percent of the baseline's native call, in the compiler that
    both natively use. Right: replay of the subject's program over the baseline's in every compiler, log axis.

    Bars are 95 % intervals; an interval that leaves the axis is cut there.
    """
    split = split[(split.framework == pair.subject) & (split.baseline == pair.baseline)]
    base, own = map(title, pair.sides)
    names = titles(split) or {"": "no program was replayed"}
    size = (PAGE, 0.8 + 0.21 * len(names))
    figure, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=[1.25, 1])
    left.set_yticks(range(len(names)), list(names.values()))
    left.set_ylim(len(names) - 0.5, -0.5)
    for axis in (left, right):
        axis.grid(axis="y", linewidth=0.3, color="#dddddd")
    _terms(left, replay[replay.framework == pair.baseline], split, list(names))
    left.set_xlabel(f"{own} \N{MINUS SIGN} {base}, % of {base}'s native call")
    _ratios(right, split, list(names))
    right.set_xlabel(f"replay of {own}'s program over {base}'s")
    return figure


def _terms(axis, replay: pandas.DataFrame, split: pandas.DataFrame, order: list[str]) -> None:
    axis.axvline(0, color="black", linewidth=0.8)
    base = replay.set_index(["workload", "compiler"]).native_ms
    native = split.dropna(subset=["runtime_effect_ms"])
    seen: list[float] = []
    for index, (term, label) in enumerate(TERMS.items()):
        look = line_look(term, list(TERMS)) | {"linestyle": "none", "label": label}
        points = []
        for _, one in native.iterrows():
            scale = 100 / base[(one.workload, one.compiler)]
            y = order.index(one.workload) + 0.26 * (index - 1)
            ends = [one[f"{term}_low_ms"] * scale, one[f"{term}_high_ms"] * scale]
            axis.plot(ends, [y, y], color=look["color"], linewidth=1.0)
            points.append((one[f"{term}_ms"] * scale, y))
        axis.plot([x for x, _ in points], [y for _, y in points], **look)
        seen += [x for x, _ in points]
    _say_missing(axis, order, set(native.workload))
    reach = max((abs(x) for x in seen), default=100)
    axis.set_xlim(min([*seen, 0]) - 0.35 * reach, max([*seen, 0]) + 0.35 * reach)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, columnspacing=0.8)


def _ratios(axis, split: pandas.DataFrame, order: list[str]) -> None:
    axis.axvline(1, color="black", linewidth=0.8)
    there = compilers(split)
    known = split.dropna(subset=["ir_ratio"])
    for index, compiler in enumerate(there):
        rows = known[known.compiler == compiler]
        places = [order.index(w) + 0.24 * (index - (len(there) - 1) / 2) for w in rows.workload]
        look = line_look(compiler, there) | {"linestyle": "none", "label": compiler_title(compiler)}
        for y, low, high in zip(places, rows.ir_ratio_low, rows.ir_ratio_high, strict=True):
            axis.plot([low, high], [y, y], color=look["color"], linewidth=1.0)
        axis.plot(rows.ir_ratio, places, **look)
    _say_missing(axis, order, set(known.workload))
    low, high = (known.ir_ratio.min(), known.ir_ratio.max()) if len(known) else (0.5, 2.0)
    low, high = min(0.8, low / 1.25), max(1.25, high * 1.25)
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    ticks = round_ticks(low, high, most=7)
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axis.minorticks_off()
    if there:
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(there))


def _say_missing(axis, order: list[str], drawn: set[str]) -> None:
    for position, workload in enumerate(order):
        if workload not in drawn:
            place = {"va": "center", "transform": axis.get_yaxis_transform()}
            place["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            axis.text(0.02, position, "nothing to compare", style="italic", **place)
