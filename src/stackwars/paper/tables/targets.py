"""Tables across compilers and targets: the largest batch, and the devices beside the original's."""

from __future__ import annotations

import pandas

from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import origins
from stackwars.paper.tables.tabular import GAP, Float, row, span, table
from stackwars.results.compiler_verdicts import FITS, TOO_LARGE
from stackwars.results.read_cells import titles
from stackwars.results.read_compilers import TARGET, compiler_title, compilers, target_title
from stackwars.results.values import is_missing
from stackwars.study.comparisons import Comparison

RATIOS = ("hbm_bytes", "estimated_cycles")
BRACKET = (
    "One number: it fits and the next does not. A range: the search ended with the largest batch somewhere in "
    "it. $\\geq$: every batch tried fits."
)
"""What `bracket` says, for the note of a table."""


def largest_batch_table(largest_batch: pandas.DataFrame, frameworks: list[str]) -> str:
    """A row per workload and compiler: the largest batch that fits, for each framework."""
    here = largest_batch[largest_batch.target == TARGET]
    rows = here.set_index(["workload", "compiler", "framework"])
    lines: list[str] = []
    for workload, name in titles(here).items():
        if lines:
            lines.append(GAP)
        for position, compiler in enumerate(compilers(here[here.workload == workload])):
            sides = [(workload, compiler, name) for name in frameworks]
            known = [rows.loc[side] for side in sides if side in rows.index]
            sequence = known[0].sequence if known else None
            lines.append(
                row(
                    [
                        escape(name) if position == 0 else "",
                        "---" if is_missing(sequence) else f"{sequence:.0f}",
                        escape(compiler_title(compiler)),
                        *(bracket(rows, side) for side in sides),
                    ]
                )
            )
    return table(
        Float(
            label="tab:largest_batch",
            caption=f"Largest Batch That Fits a {target_title(TARGET)}",
            columns=f"lrl{'r' * len(frameworks)}",
            note="By bisection over compilations of the whole program, weights and inputs included. "
            f"{BRACKET} A dash: no sequence, or no program. {origins(here)}",
        ),
        [
            row(
                [
                    "Workload",
                    "{Seq.}",
                    "Compiler",
                    *(f"{{{escape(title(name))}}}" for name in frameworks),
                ]
            )
        ],
        lines or [row([span(3 + len(frameworks), "no largest batch was searched for")])],
    )


def bracket(rows: pandas.DataFrame, side: tuple[str, str, str]) -> str:
    """The largest batch of one (workload, compiler, framework), as the note of its table says."""
    if side not in rows.index or is_missing(rows.loc[side].fits_batch):
        return "---"
    one = rows.loc[side]
    if is_missing(one.oom_batch):
        return rf"$\geq${one.fits_batch:.0f}"
    if one.oom_batch == one.fits_batch + 1:
        return f"{one.fits_batch:.0f}"
    return f"{one.fits_batch:.0f} to {one.oom_batch - 1:.0f}"


def target_table(ahead: pandas.DataFrame, pairs: list[Comparison]) -> str:
    """A row per target and compiler: how many programs fit, and each subject's bytes over the baseline's."""
    lines: list[str] = []
    for target, rows in ahead.groupby("target", sort=False):
        if lines:
            lines.append(GAP)
        for position, compiler in enumerate(compilers(rows)):
            one = rows[rows.compiler == compiler]
            judged = one.verdict.isin([FITS, TOO_LARGE])
            usable = one.usable_bytes.max() / 2**30
            lines.append(
                row(
                    [
                        escape(target_title(target)) if position == 0 else "",
                        escape(compiler_title(compiler)),
                        "---" if is_missing(float(usable)) else significant(usable, 4),
                        *((one.verdict == word).sum() for word in (FITS, TOO_LARGE)),
                        (~judged).sum(),
                        *(_range(one, column, pair) for pair in pairs for column in RATIOS),
                    ]
                )
            )
    over = ", ".join(f"{title(p.subject)} over {title(p.baseline)}" for p in pairs)
    over = escape(over or "no pair of programs")
    return table(
        Float(
            label="tab:targets",
            caption="Every Target: Programs That Fit, and Ratios to the Baseline",
            columns="llrrrr" + "rr" * len(pairs),
            note="Usable in GiB. Other: the compiler failed for a reason other than memory. HBM and cycles: "
            f"minimum, median and maximum of the ratio, {over}; cycles are the "
            "compiler's estimate, not measured. A dash: not reported. " + origins(ahead),
            wide=True,
            size=r"\scriptsize",
        ),
        [
            row(
                [
                    *("Target", "Compiler", "{Usable}", "{fits}", "{oom}", "{other}"),
                    *("{HBM ratio}", "{Cycles ratio}") * len(pairs),
                ]
            )
        ],
        lines or [row([span(6 + 2 * len(pairs), "no program was compiled for any target")])],
    )


def _range(one: pandas.DataFrame, column: str, pair: Comparison) -> str:
    """Minimum, median and maximum ratio over the programs of which both frameworks have one."""
    table_ = one.pivot_table(index=["workload", "variant"], columns="framework", values=column)
    if not set(pair.sides) <= set(table_.columns):
        return "---"
    ratios = (table_[pair.subject] / table_[pair.baseline]).dropna()
    if ratios.empty:
        return "---"
    return ", ".join(significant(v) for v in (ratios.min(), ratios.median(), ratios.max()))
