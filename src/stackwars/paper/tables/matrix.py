"""Tables of the matrix: its decomposition, and what each compiler costs over the one before it."""

from __future__ import annotations

import pandas

from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.ratios import SIGNS, SIGNS_NOTE
from stackwars.paper.tables.tabular import GAP, Float, row, span, table
from stackwars.results.matrix import BOTH, COMPILER, FRONTEND
from stackwars.results.read_compilers import compiler_title
from stackwars.results.values import is_missing

ELSEWHERE = "$^*$"
ORIGINS = f"Origin: this build's; {ELSEWHERE}: a run of the reference."
_PARTS = {FRONTEND: "frontend", COMPILER: "compiler", BOTH: "interaction"}


def effects_table(effects: pandas.DataFrame, titles: dict[str, str]) -> str:
    """A row a workload: the share of the variance of the logarithm of the time that each part has.

    titles: of the workloads.
    """
    lines = []
    for workload, rows in effects.groupby("workload", sort=False):
        parts = rows.set_index("effect")
        first = rows.iloc[0]
        cells = [_share(parts.loc[name]) for name in _PARTS]
        factors = [significant(parts.loc[name].factor, 3) for name in _PARTS]
        size = (
            f"{first.frontends:.0f}$\\times${first.compilers:.0f}, {first.rounds:.0f}"
            if not is_missing(first.rounds)
            else "---"
        )
        name = escape(titles.get(workload, "All workloads")) + _mark(first.run)
        if workload not in titles:
            lines.append(GAP)
        lines.append(row([name, *cells, *factors, size]))
    return table(
        Float(
            label="tab:effects",
            caption="How Much of the Time Is Frontend, Compiler, or Both",
            columns="lllllllr",
            note="Shares of the variance of the logarithm of a replay's time over the complete block of the "
            r"matrix, with 95\,\% intervals over the rounds (all: over the workloads); noise between rounds is "
            "taken out, so a share may be below 0. Factor: exp of the standard deviation of the part. Block: "
            f"frontends, compilers, rounds. {ORIGINS}",
            wide=True,
            size=r"\scriptsize",
        ),
        [
            r"& \multicolumn{3}{c}{Share (\%)} & \multicolumn{3}{c}{Factor} & \\",
            r"\cmidrule(lr){2-4}\cmidrule(lr){5-7}",
            row(["Workload", *_PARTS.values(), *_PARTS.values(), "{Block}"]),
        ],
        lines or [row([span(8, "no block of the matrix is complete")])],
    )


def _share(part: pandas.Series) -> str:
    text = _percent(part.share)
    if is_missing(part.share_low):
        return text
    return rf"{text} {{\scriptsize[{_percent(part.share_low)}, {_percent(part.share_high)}]}}"


def _percent(share: float) -> str:
    return f"{round(100 * share)}".replace("-", "$-$")


def _mark(run: object) -> str:
    return "" if is_missing(run) or run == "" else ELSEWHERE


def matrix_table(matrix: pandas.DataFrame) -> str:
    """A row for each program and compiler after the first: its time over that in the compiler before it."""
    lines, previous = [], None
    # A program that the compiler before it refused has nothing to be compared with.
    shown = matrix[matrix.previous_ratio.notna()]
    for (workload, compiler), rows in shown.groupby(["workload", "compiler"], sort=False):
        if previous not in (None, workload):
            lines.append(GAP)
        before = rows.previous.iloc[0]
        values = ", ".join(_ratio(cell) for cell in rows.itertuples())
        lines.append(
            row(
                [
                    escape(rows.title.iloc[0]) + _mark(rows.run.iloc[0])
                    if workload != previous
                    else "",
                    escape(f"{compiler_title(compiler)} / {compiler_title(before)}"),
                    values,
                ]
            )
        )
        previous = workload
    return table(
        Float(
            label="tab:matrix",
            caption="What a Compiler Costs over the One before It, by Frontend",
            columns=r"llp{0.62\textwidth}",
            note="Replay in the compiler over replay of the same program in the other, paired by round. "
            + SIGNS_NOTE
            + ORIGINS,
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Workload", "Compiler over other", "Ratio by frontend"])],
        lines or [row([span(3, "nothing to compare")])],
    )


def _ratio(cell) -> str:
    sign = SIGNS.get(cell.previous_verdict, "")
    return rf"{escape(title(cell.framework))} {sign}\,{significant(cell.previous_ratio)}"
