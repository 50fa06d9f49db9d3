"""Tables across compilers and targets: the largest batch, and the devices beside the original's."""

from __future__ import annotations

import pandas

from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import ORIGIN_NOTE
from stackwars.paper.tables.tabular import GAP, Float, row, span, table
from stackwars.results.compiler_verdicts import FITS, TOO_LARGE
from stackwars.results.published import SUBJECT
from stackwars.results.read_cells import BASELINE, titles
from stackwars.results.read_compilers import TARGET, compiler_title, compilers, target_title
from stackwars.results.values import is_missing


def largest_batch_table(largest_batch: pandas.DataFrame) -> str:
    """A row per workload and compiler: the largest batch that fits, for both frameworks."""
    here = largest_batch[largest_batch.target == TARGET]
    rows = here.set_index(["workload", "compiler", "framework"])
    lines: list[str] = []
    for workload, title in titles(here).items():
        if lines:
            lines.append(GAP)
        for position, compiler in enumerate(compilers(here[here.workload == workload])):
            sides = [(workload, compiler, name) for name in (BASELINE, SUBJECT)]
            known = [rows.loc[side] for side in sides if side in rows.index]
            sequence = known[0].sequence if known else None
            lines.append(
                row(
                    [
                        escape(title) if position == 0 else "",
                        "---" if is_missing(sequence) else f"{sequence:.0f}",
                        escape(compiler_title(compiler)),
                        *(_bracket(rows, side) for side in sides),
                        escape(known[0].origin or "---") if known else "---",
                    ]
                )
            )
    return table(
        Float(
            label="tab:largest_batch",
            caption=f"Largest Batch That Fits a {target_title(TARGET)}",
            columns="lrlrrl",
            note="By bisection over compilations of the whole program; weights and inputs count. "
            "One number: it fits and the next does not. A range: the largest known to fit and the "
            "smallest known not to. $\\geq$: nothing tried failed to fit. A dash: no sequence, or "
            "no program. " + ORIGIN_NOTE,
        ),
        [row(["Workload", "{Seq.}", "Compiler", "{JAX}", "{PyTorch}", "Origin"])],
        lines or [row([span(6, "no largest batch was searched for")])],
    )


def _bracket(rows: pandas.DataFrame, side: tuple[str, str, str]) -> str:
    if side not in rows.index or is_missing(rows.loc[side].fits_batch):
        return "---"
    one = rows.loc[side]
    if is_missing(one.oom_batch):
        return rf"$\geq${one.fits_batch:.0f}"
    if one.oom_batch == one.fits_batch + 1:
        return f"{one.fits_batch:.0f}"
    return f"{one.fits_batch:.0f} to {one.oom_batch - 1:.0f}"


def target_table(ahead: pandas.DataFrame) -> str:
    """A row per target and compiler: how many programs fit, and PyTorch's bytes over JAX's."""
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
                        *(_range(one, column) for column in ("hbm_bytes", "estimated_cycles")),
                    ]
                )
            )
    origins = ", ".join(map(escape, ahead.origin[ahead.origin != ""].drop_duplicates()))
    return table(
        Float(
            label="tab:targets",
            caption="Every Target: Programs That Fit, and PyTorch over JAX",
            columns="llrrrrrr",
            note="Usable in GiB. Other: the compiler failed for another reason than memory. HBM and cycles: "
            "the least, median and greatest ratio of PyTorch's program to JAX's; cycles are the "
            "compiler's estimate, nobody measured them. A dash: not told. Origin: "
            f"{origins or 'none'}.",
            size=r"\scriptsize",
        ),
        [
            row(
                [
                    *("Target", "Compiler", "{Usable}", "{fits}", "{oom}", "{other}"),
                    *("{HBM ratio}", "{Cycles ratio}"),
                ]
            )
        ],
        lines or [row([span(8, "no program was compiled for any target")])],
    )


def _range(one: pandas.DataFrame, column: str) -> str:
    """Least, median and greatest ratio over the programs of which both frameworks have one."""
    table_ = one.pivot_table(index=["workload", "variant"], columns="framework", values=column)
    if not {BASELINE, SUBJECT} <= set(table_.columns):
        return "---"
    ratios = (table_[SUBJECT] / table_[BASELINE]).dropna()
    if ratios.empty:
        return "---"
    return ", ".join(significant(v) for v in (ratios.min(), ratios.median(), ratios.max()))
