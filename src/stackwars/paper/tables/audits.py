"""Three tables: what is needed to trust the numbers of the others, how they were obtained, and the shapes."""

from __future__ import annotations

import pandas

from stackwars import workloads
from stackwars.paper.latex import escape, scientific, significant
from stackwars.paper.tables.rows import (
    STAGES,
    framework_cell,
    grouped,
    origins,
    share,
    whole,
)
from stackwars.paper.tables.spread import CELL, Spread, spread_text
from stackwars.paper.tables.tabular import Float, picked, row, span, table, varying
from stackwars.results.read_cells import audited_cells, baselines_title, short_status
from stackwars.results.values import is_missing, is_true


def audit_table(frame: pandas.DataFrame) -> str:
    """Status, parity, compiles per call, cache hits, the split of the first run and peak memory."""
    base = escape(baselines_title(frame))
    shown = audited_cells(frame)

    def cells(cell: pandas.Series, first: bool) -> list[str]:
        parity = "---" if is_missing(cell.parity_rel_l2) else scientific(cell.parity_rel_l2)
        compiles = [whole(cell[f"compiles_{stage}"]) for stage in STAGES]
        split = [_optional(cell[f"first_{part}_ms"]) for part in ("trace", "compile", "execute")]
        return [
            escape(cell.title) if first else "",
            framework_cell(cell),
            escape(short_status(cell)),
            parity,
            *compiles,
            whole(cell.cache_hits_first),
            *split,
            _optional(cell.peak_rss_bytes, scale=2**30),
            _optional(cell.floor_ms),
        ]

    heads = [
        *("Workload", "Framework", "Status", "{Rel. $L_2$}"),
        *("{1}", "{2}", "{later}", "{hits}"),
        *("{trace}", "{compile}", "{execute}"),
        *("{(GiB)}", "{(ms)}"),
    ]
    rows = [cells(cell, True) for _, cell in shown.iterrows()]
    kept, same = varying(heads, rows, {7: "cache hits"})
    hits, first = (["{Cache}"], 9) if 7 in kept else ([], 8)
    header = [
        row(
            [
                *(
                    "",
                    "",
                    "",
                    "",
                    span(3, "Compilations in call"),
                    *hits,
                    span(3, "First run (ms)"),
                ),
                *("{Peak RSS}", "{Floor}"),
            ]
        ),
        rf"\cmidrule(lr){{5-7}}\cmidrule(lr){{{first}-{first + 2}}}",
        row(picked(heads, kept)),
    ]
    return table(
        Float(
            label="tab:audit",
            caption="Status, Parity and First Run of Every Cell",
            columns="".join(picked("lllrrrrrrrrrr", kept)),
            note="A dash: the framework does not report it, or the cell gave no number. "
            f"Rel.\\ $L_2$: error of the output samples relative to {base}'s; in {base}'s row the maximum of "
            "the others'. Compilations, cache hits (of call 1, from a cache on disk: 0 if it really is the "
            "first) and peaks are maxima over the processes. The parts of the first run are medians over the "
            "processes: they show where time is spent, and nothing is concluded from their size. Floor: no "
            "steady state may be below it. " + same + origins(frame),
            wide=True,
            size=r"\scriptsize",
            separation="3pt",
        ),
        header,
        grouped(shown, lambda cell, first: row(picked(cells(cell, first), kept))),
    )


def round_table(frame: pandas.DataFrame, ungated: Spread) -> str:
    """Rounds and why they ended, class of the steady state, and what the contention gate kept.

    ungated: of the steady states from all blocks, in ms.
    """

    def line(cell: pandas.Series, first: bool) -> str:
        if cell.status == "ok":
            values = [
                escape(cell.steady_class),
                whole(cell.warmup_points),
                whole(cell.steady_calls),
                share(cell.kept_share),
                "uncontended" if is_true(cell.gated) else "all",
                _optional(cell.steady_ungated_ms, 4),
                spread_text(ungated, tuple(cell[CELL])),
                whole(cell.threads),
            ]
        else:
            values = [span(8, short_status(cell))]
        return row(
            [
                escape(cell.title) if first else "",
                framework_cell(cell),
                whole(cell.rounds),
                escape(cell.stop_reason) if cell.stop_reason else "---",
                *values,
            ]
        )

    header = [
        r"& & \multicolumn{2}{c}{Rounds} & \multicolumn{3}{c}{Series} & \multicolumn{2}{c}{Blocks} & "
        r"\multicolumn{2}{c}{All blocks (ms)} & \\",
        r"\cmidrule(lr){3-4}\cmidrule(lr){5-7}\cmidrule(lr){8-9}\cmidrule(lr){10-11}",
        row(
            [
                *("Workload", "Framework", "{number}", "ended by", "class", "{warm-up}", "{calls}"),
                *("{kept}", "used", "{steady}", "range", "{Threads}"),
            ]
        ),
    ]
    return table(
        Float(
            label="tab:rounds",
            caption="Rounds, Steady State and Contention of Every Cell",
            columns="llrllrrrlrlr",
            note="Ended by: every ratio decided, the time budget, or the maximum number of rounds; a "
            "dash: the cell failed. Class: that of most processes' series. Warm-up: points of the series "
            "before the steady state (call 1, call 2, then blocks), median. Kept: share of uncontended "
            "blocks, mean over the processes. Used: the blocks that the steady state in the other tables is "
            "from. All blocks: the steady state without the gate, with the smallest and the largest process. "
            "Threads: those with over 1\\,\\% of the steady-state work. " + origins(frame),
            wide=True,
            size=r"\scriptsize",
            separation="3pt",
        ),
        header,
        grouped(audited_cells(frame), line),
    )


def _optional(value: float, digits: int = 3, scale: float = 1.0) -> str:
    return "---" if is_missing(value) else significant(value / scale, digits)


def shape_table(frame: pandas.DataFrame, context: dict) -> str:
    """The shapes of this preset, and what they amount to: of the frame's workloads, then of all others."""
    cells = frame.drop_duplicates("workload")
    shown = list(zip(cells.workload, cells.title, cells.flops, cells.parameter_bytes, strict=True))
    for name in workloads.names():
        sizes = context["sizes"].get(name)
        if sizes is not None and name not in set(cells.workload):
            module = workloads.load(name)
            weights = 4 * module.parameter_count(sizes)
            shown.append((name, module.TITLE, module.flops(sizes), weights))
    lines = []
    for name, title, flops, weights in shown:
        sizes = context["sizes"].get(name, {})
        shapes = ", ".join(f"{key} {value}" for key, value in sizes.items()) or "not recorded"
        numbers = [
            "---" if is_missing(value) else significant(value / unit)
            for value, unit in ((flops, 1e9), (weights, 2**20))
        ]
        lines.append(row([escape(title), escape(shapes.replace("_", " ")), *numbers]))
    return table(
        Float(
            label="tab:shapes",
            caption=f"Shapes of the {escape(context['preset'])} Preset",
            columns=r"l>{\raggedright\arraybackslash}p{0.66\linewidth}rr",
            note="FLOPs count a multiply-add as two, in matrix products and convolutions only, and not in a "
            "loop whose length depends on its values. Origin: computed from the shapes.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Workload", "Sizes", "{GFLOP per call}", "{Weights (MiB)}"])],
        lines,
    )
