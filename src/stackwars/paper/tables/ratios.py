"""Tables of ratios to JAX: beside the published ones, and every comparison with what decides it."""

from __future__ import annotations

import pandas

from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import (
    APART,
    CONTENDED,
    STAGES,
    framework_cell,
    grouped,
    interval,
    mark_notes,
    origins,
    over,
    share,
    steady_mark,
)
from stackwars.paper.tables.tabular import GAP, Float, row, span, table
from stackwars.results import published, verdicts
from stackwars.results.published import Pair, ratio_ends
from stackwars.results.read_cells import baselines_title
from stackwars.results.values import is_missing, is_true

SIGNS = {
    verdicts.SLOWER: "$>$",
    verdicts.FASTER: "$<$",
    verdicts.NO_DIFFERENCE: "$=$",
    verdicts.UNRESOLVED: "?",
}
SIGNS_NOTE = (
    r"$>$: slower than the baseline, $<$: faster; $=$: no difference, the whole interval being within 5\,\% "
    r"of 1; ?: unresolved. "
)


def published_table(
    frame: pandas.DataFrame, ratios: pandas.DataFrame, there: pandas.DataFrame
) -> str:
    """Table IV: the ratio subject/baseline as published and in this run, and whether directions agree."""
    base = escape(baselines_title(frame))
    lines: list[str] = []
    previous = None
    for pair in published.pairs(frame, ratios, there):
        if previous is not None and pair.workload != previous:
            lines.append(GAP)
        theirs = [significant(pair.published[s]) for s in STAGES if s in pair.published]
        lines.append(
            row(
                [
                    escape(pair.title) if pair.workload != previous else "",
                    framework_cell(pair),
                    *(theirs or [span(3, pair.published_status)]),
                    *(_ours(pair) or [span(7, pair.status)]),
                    escape(pair.agreement),
                ]
            )
        )
        previous = pair.workload
    heads = [span(2, s) for s in ("First", "Second", "Steady")]
    header = [
        r"& & \multicolumn{3}{c}{Published} & \multicolumn{7}{c}{Ours} & \\",
        r"\cmidrule(lr){3-5}\cmidrule(lr){6-12}",
        row(
            [
                *("Workload", "Framework", "{First}", "{Second}", "{Steady}", *heads, "Verdict"),
                "Direction",
            ]
        ),
    ]
    return table(
        Float(
            label="tab:IV",
            caption=f"Ratios of Latencies to {base}'s: Published and Ours",
            columns="llrrr" + r"rl" * 3 + "ll",
            note=f"Above 1: {base} is faster. Published: the original's PyTorch over JAX. After each of ours: "
            f"its 95\\,\\% interval {over(ratios, 'steady')}; the verdict is on the steady ratio, after "
            "Holm's correction. "
            "The original gives no interval. It used a TPU v6e, we the devices of "
            "Section~\\ref{sec:build}: only directions are compared. "
            + mark_notes(lines)
            + origins(frame),
            separation="2.2pt",
            size=r"\scriptsize",
            wide=True,
        ),
        header,
        lines or [row([span(13, "no published row is in this run's grid")])],
    )


def _ours(pair: Pair) -> list[str]:
    """Three ratios, each with its interval, and the verdict; nothing where there are no ratios."""
    if not pair.ours:
        return []
    marks = steady_mark(pair.gated) + (CONTENDED if pair.contended else "")
    cells: list[str] = []
    for stage in STAGES:
        cells += [significant(pair.ours[stage]), interval(*pair.ends[stage])]
    return [*cells[:-1], cells[-1] + marks, str(escape(pair.verdict))]


def comparison_table(frame: pandas.DataFrame, ratios: pandas.DataFrame) -> str:
    """Every ratio of every stage with interval and verdict, and what the steady one rests on."""
    titles = dict(zip(frame.workload, frame.title, strict=True))
    base = escape(baselines_title(frame))

    def line(one: pandas.Series, first: bool) -> str:
        cells = [escape(titles[one.workload]) if first else "", framework_cell(one)]
        for stage in STAGES:
            marks = _steady_marks(one) if stage == "steady" else ""
            cells += [_ratio(one[f"{stage}_ratio"])]
            cells += [interval(*ratio_ends(one, stage)) + marks]
            cells += [SIGNS.get(one[f"{stage}_verdict"], "---")]
        return row(
            [
                *cells,
                interval(one.steady_boot_low, one.steady_boot_high),
                _p(one.steady_p_holm),
                share(one.steady_detectable),
                f"{one.steady_rounds:.0f}/{one.rounds:.0f}",
            ]
        )

    lines = grouped(ratios, line)
    header = [
        r"& & \multicolumn{3}{c}{First run} & \multicolumn{3}{c}{Second run} & "
        r"\multicolumn{7}{c}{Steady state} \\",
        r"\cmidrule(lr){3-5}\cmidrule(lr){6-8}\cmidrule(lr){9-15}",
        row(
            [
                *("Workload", "Framework", *("{ratio}", r"{95\,\%}", "") * 3),
                *("bootstrap", "{$p$}", "{detect.}", "{rounds}"),
            ]
        ),
    ]
    return table(
        Float(
            label="tab:ratios",
            caption=f"Every Comparison with {base} and What Decides It",
            columns="ll" + r"rlc" * 3 + "lrrr",
            note=f"Ratio of latencies to {base}'s, paired by round, with its 95\\,\\% $t$ interval "
            f"{over(ratios, 'steady')}. " + SIGNS_NOTE + "A direction is after Holm's correction. "
            "Bootstrap: the 95\\,\\% interval of the hierarchical bootstrap, "
            "of the newest run alone, which decides nothing. $p$: "
            "after Holm's correction over the workloads of one of Tables~\\ref{tab:I} to~\\ref{tab:III}, "
            "device, framework and stage. Detect.: minimum difference that such rounds, or runs, would have "
            "found in 4 cases of 5. Rounds: of the newest run, those used for the steady ratio, of those "
            "with both frameworks. "
            "A dash: one round. " + mark_notes(lines) + origins(frame),
            separation="2.2pt",
            size=r"\scriptsize",
            wide=True,
        ),
        header,
        lines or [row([span(15, "no pair of cells to compare")])],
    )


def _steady_marks(one: pandas.Series) -> str:
    apart = "" if is_true(one.steady_interleaved) else APART
    return apart + steady_mark(one.steady_gated) + (CONTENDED if is_true(one.contended) else "")


def _ratio(value: float) -> str:
    return "---" if is_missing(value) else significant(value)


def _p(value: float) -> str:
    if is_missing(value):
        return "---"
    return "$<$0.001" if value < 0.001 else significant(value, 2)
