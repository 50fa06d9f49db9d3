"""Tables of the matrix: its decomposition, and what each compiler costs over the one before it."""

from __future__ import annotations

import pandas

from stackwars.frameworks import title
from stackwars.paper.latex import escape, scientific, significant
from stackwars.paper.tables.ratios import SIGNS, SIGNS_NOTE
from stackwars.paper.tables.rows import interval
from stackwars.paper.tables.tabular import GAP, Float, row, span, table, tables
from stackwars.results.compiler_verdicts import (
    SUBSET_ALL,
    SUBSET_BOTH,
    SUBSET_ONE_EACH,
    SUBSET_XLA,
)
from stackwars.results.matrix import BOTH, COMPILER, FRONTEND
from stackwars.results.read_compilers import base_compiler, compiler_title
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding

ELSEWHERE = "$^*$"
ORIGINS = f"Origin: this build's; {ELSEWHERE}: a run of the reference."
MOST_ROWS = 60
"""What a page has room for, in rows of one line."""
_PARTS = {FRONTEND: "frontend", COMPILER: "compiler", BOTH: "interaction"}
SUBSET_TITLES = {
    SUBSET_ALL: "all of it",
    SUBSET_XLA: "compilers that are XLA alone",
    SUBSET_ONE_EACH: "one frontend for each API",
    SUBSET_BOTH: "both restrictions",
}


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


def subsets_table(findings: list[Finding]) -> str:
    """A row for each part of the matrix: on how many workloads each effect is separated as the largest."""
    lines = []
    for one in findings:
        counts = [one["by_frontend"], one["by_compiler"], one["by_both"]]
        size = rf"{one['frontends']}$\times${one['compilers']}"
        rest = one["workloads"] - sum(counts)
        lines.append(row([SUBSET_TITLES[one["subset"]], size, *map(str, counts), str(rest)]))
    return table(
        Float(
            label="tab:subsets",
            caption="On How Many Workloads Each Part Is the Largest",
            columns="llrrrr",
            note="Whether the answer rests on IREE, or on several frontends that lower the same PyTorch model. "
            "Block: frontends and compilers of the largest. Separated: by the intervals of that part, "
            r"computed as in Table~\ref{tab:effects}. Origin: the runs of that table.",
            wide=False,
            size=r"\scriptsize",
        ),
        [row(["Part of the matrix", "{Block}", *map(_braced, _PARTS.values()), "{not separated}"])],
        lines or [row([span(6, "no block of the matrix is complete")])],
    )


def _braced(text: str) -> str:
    return f"{{{text}}}"


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
    blocks: list[list[str]] = []
    previous = None
    # A program that the compiler before it refused has nothing to be compared with.
    shown = matrix[matrix.previous_ratio.notna()]
    for (workload, compiler), rows in shown.groupby(["workload", "compiler"], sort=False):
        if workload != previous:
            blocks.append([])
        before = rows.previous.iloc[0]
        values = ", ".join(_ratio(cell) for cell in rows.itertuples())
        blocks[-1].append(
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
    return tables(
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
        blocks or [[row([span(3, "nothing to compare")])]],
        # Each of them takes two lines.
        MOST_ROWS // 2,
    )


def _ratio(cell) -> str:
    sign = SIGNS.get(cell.previous_verdict, "")
    return rf"{escape(title(cell.framework))} {sign}\,{significant(cell.previous_ratio)}"


def ynn_table(matrix: pandas.DataFrame) -> str:
    """A row for each program that ran in a compiler with and without something (YNN): times, ratio, parity."""
    ok = matrix[matrix.status == "ok"].set_index(["workload", "framework", "compiler"])
    blocks: list[list[str]] = []
    previous = None
    for (workload, framework, compiler), without in ok.iterrows():
        key = (workload, framework, base_compiler(compiler))
        if key[-1] == compiler or key not in ok.index:
            continue
        within = ok.loc[key]
        if workload != previous:
            blocks.append([])
        blocks[-1].append(
            row(
                [
                    escape(without.title) + _mark(without.run) if workload != previous else "",
                    escape(title(framework)),
                    *(significant(one.replay_ms, 4) for one in (within, without)),
                    _resolved(without),
                    *(_error(one.native_rel_l2) for one in (within, without)),
                ]
            )
        )
        previous = workload
    return tables(
        Float(
            label="tab:ynn",
            caption="With and without YNN: Time of One Replayed Call, and Its Output",
            columns="llrrlrr",
            note="Times: of uncontended blocks, where there are enough. Ratio: without it over with it, of all "
            r"blocks, paired by round, with its 95\,\% interval. "
            + SIGNS_NOTE.replace("the baseline", "with it")
            + "Error: relative L2, on a sample, of the output against that of the framework's own cell; "
            "the two are not compared with each other. A dash: the run of the replay has no such cell. "
            + ORIGINS,
            wide=True,
            size=r"\scriptsize",
        ),
        [
            row(["", "", span(2, "ms"), "", span(2, "Error")]),
            row(["Workload", "Frontend", "{with}", "{without}", "Ratio", "{with}", "{without}"]),
        ],
        blocks or [[row([span(7, "no program was run both ways")])]],
        MOST_ROWS,
    )


def _resolved(cell: pandas.Series) -> str:
    if is_missing(cell.previous_ratio):
        return "---"
    ends = interval(cell.previous_low, cell.previous_high)
    return rf"{SIGNS.get(cell.previous_verdict, '')}\,{significant(cell.previous_ratio)} {ends}"


def _error(value: float) -> str:
    return "---" if is_missing(value) else scientific(value)
