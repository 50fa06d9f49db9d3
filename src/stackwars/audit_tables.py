"""Two tables: what is needed to trust the numbers of the others, and the shapes."""

from __future__ import annotations

import pandas

from stackwars.latex import escape, is_missing, scientific, significant
from stackwars.sources import short_status, shown_cells
from stackwars.table_rows import ORIGIN_NOTE, STAGES, framework_cell, grouped, origin_text
from stackwars.tabular import Float, row, table


def audit_table(frame: pandas.DataFrame) -> str:
    """Status, parity, compiles per call, the split of the first run and peak memory."""

    def optional(value: float, digits: int = 3, scale: float = 1.0) -> str:
        return "---" if is_missing(value) else significant(value / scale, digits)

    def whole(value: float) -> str:
        return "---" if is_missing(value) else f"{value:.0f}"

    def line(cell: pandas.Series, first: bool) -> str:
        parity = "---" if is_missing(cell.parity_rel_l2) else scientific(cell.parity_rel_l2)
        compiles = [whole(cell[f"compiles_{stage}"]) for stage in STAGES]
        split = [optional(cell[f"first_{part}_ms"]) for part in ("trace", "compile", "execute")]
        return row(
            [
                escape(cell.title) if first else "",
                framework_cell(cell),
                escape(short_status(cell)),
                whole(cell.repetitions),
                parity,
                *compiles,
                *split,
                optional(cell.peak_rss_bytes, scale=2**30),
                origin_text(cell),
            ]
        )

    header = [
        r"& & & & & \multicolumn{3}{c}{Compilations in call} & "
        r"\multicolumn{3}{c}{First run (ms)} & {Peak RSS} & \\",
        r"\cmidrule(lr){6-8}\cmidrule(lr){9-11}",
        row(
            [
                *("Workload", "Framework", "Status", "{Proc.}", "{Rel. $L_2$}"),
                *("{1}", "{2}", "{later}"),
                *("{trace}", "{compile}", "{execute}"),
                *("{(GiB)}", "Origin"),
            ]
        ),
    ]
    return table(
        Float(
            label="tab:audit",
            caption="Audit of Every Cell",
            columns="lllrrrrrrrrrl",
            note="A dash: the framework does not tell, or the cell gave no number. "
            "Rel.\\ $L_2$: error of the output sample against JAX; in JAX's row the largest of the others'. "
            + ORIGIN_NOTE,
            wide=True,
            size=r"\scriptsize",
            separation="3.5pt",
        ),
        header,
        grouped(shown_cells(frame), line),
    )


def shape_table(frame: pandas.DataFrame, context: dict) -> str:
    """The shapes of this preset, and what they amount to."""
    lines = []
    for _, cell in frame.drop_duplicates("workload").iterrows():
        sizes = context["sizes"].get(cell.workload, {})
        shapes = ", ".join(f"{key} {value}" for key, value in sizes.items()) or "not recorded"
        flops = "---" if is_missing(cell.flops) else significant(cell.flops / 1e9)
        weights = (
            "---" if is_missing(cell.parameter_bytes) else significant(cell.parameter_bytes / 2**20)
        )
        lines.append(row([escape(cell.title), escape(shapes.replace("_", " ")), flops, weights]))
    return table(
        Float(
            label="tab:shapes",
            caption=f"Shapes of the {escape(context['preset'])} Preset",
            columns=r"l>{\raggedright\arraybackslash}p{0.66\linewidth}rr",
            note="FLOPs count a multiply-add as two, in matrix products and convolutions only. "
            "Origin: computed from the shapes.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Workload", "Sizes", "{GFLOP per call}", "{Weights (MiB)}"])],
        lines,
    )
