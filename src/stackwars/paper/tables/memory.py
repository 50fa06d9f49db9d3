"""Table III's second form: bytes and verdicts on the original's device, beside its outcomes."""

from __future__ import annotations

import pandas

from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import origins
from stackwars.paper.tables.tabular import GAP, Float, row, span, table
from stackwars.results.compiler_verdicts import FITS, TOO_LARGE
from stackwars.results.read_compilers import (
    TARGET,
    compiler_title,
    compilers,
    target_title,
    variant_title,
)
from stackwars.results.values import is_missing
from stackwars.study.comparisons import Comparison

PARTS = ["argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "hbm_bytes"]
KEYS = ["workload", "variant", "framework"]


def fit_table(ahead: pandas.DataFrame, there: pandas.DataFrame, pairs: list[Comparison]) -> str:
    """A row per program and size: bytes by the newest compiler, verdicts by it and the oldest."""
    here = ahead[ahead.target == TARGET]
    order = compilers(here)
    older = here[here.compiler == order[0]] if len(order) > 1 else here.iloc[:0]
    older = older.set_index(KEYS)
    newest = here[here.compiler == order[-1]] if order else here
    cycles = newest.set_index(KEYS).estimated_cycles
    baselines = {pair.subject: pair.baseline for pair in pairs}
    outcomes = there.set_index(["workload", "framework"]).status.to_dict()
    lines: list[str] = []
    previous = None
    for workload, variant, framework in _keys(newest):
        one = newest[
            (newest.workload == workload)
            & (newest.variant == variant)
            & (newest.framework == framework)
        ].iloc[0]
        if previous is not None and workload != previous[0]:
            lines.append(GAP)
        key = (workload, variant, framework)
        lines.append(
            row(
                [
                    escape(one.title) if (previous or [""])[0] != workload else "",
                    escape(variant_title(one)),
                    escape(title(framework)),
                    escape(outcomes[workload, framework])
                    if (workload, framework) in outcomes
                    else "---",
                    *_bytes(one),
                    *_older(older.loc[key] if key in older.index else None),
                    _ratio(cycles, key, baselines),
                ]
            )
        )
        previous = key
    return table(
        Float(
            label="tab:fits",
            caption=f"What Fits a {target_title(TARGET)}: Bytes (GiB) and Verdicts by the Compiler",
            columns="lllc" + "rrrrrr" + "ll" + "rl" + "r",
            note=_note(here, order),
            wide=True,
            size=r"\scriptsize",
            separation="2.4pt",
        ),
        _header(order),
        lines or [row([span(15, "no program was compiled for this device")])],
    )


def bytes_table(ahead: pandas.DataFrame, there: pandas.DataFrame, pair: Comparison) -> str:
    """A row per workload and size: what both programs of a comparison need, and the published outcomes."""
    here = ahead[ahead.target == TARGET]
    order = compilers(here)
    newest = here[here.compiler == order[-1]] if order else here
    cells = newest.set_index(KEYS)
    outcomes = there.set_index(["workload", "framework"]).status.to_dict()
    own, base = pair.subject, pair.baseline
    lines: list[str] = []
    previous = None
    for workload, variant, framework in _keys(newest[newest.framework == own]):
        key = (workload, variant, base)
        if key not in cells.index:
            continue
        one, other = cells.loc[(workload, variant, framework)], cells.loc[key]
        needs = [one.hbm_bytes, other.hbm_bytes]
        known = not any(map(is_missing, needs))
        published = [outcomes.get((workload, side), "---") for side in (base, own)]
        lines.append(
            row(
                [
                    escape(one.title) if workload != previous else "",
                    escape(variant_title(one)),
                    *(_need(side) for side in (other, one)),
                    significant(needs[0] / needs[1]) if known else "---",
                    escape(" / ".join(published)),
                ]
            )
        )
        previous = workload
    usable = newest.usable_bytes.dropna()
    limit = f"A program may use {gib(usable.max())} GiB. " if len(usable) else ""
    return table(
        Float(
            label="tab:bytes",
            caption=f"Memory That the Models Need on a {target_title(TARGET)} (GiB)",
            columns="llrrrl",
            note=rf"Batch: batch$\times$sequence, or batch alone. {limit}\textbf{{Bold}}: does not fit. "
            f"Ratio: {escape(title(own))} over {escape(title(base))}. Published: the original's outcomes. By "
            f"{escape(compiler_title(order[-1])) if order else 'no compiler'}; parts and other programs: "
            f"Table~\\ref{{tab:fits}}. {origins(newest)}",
            size=r"\scriptsize",
        ),
        [
            row(
                [
                    *(
                        "Workload",
                        "Batch",
                        f"{{{escape(title(base))}}}",
                        f"{{{escape(title(own))}}}",
                    ),
                    *("{Ratio}", "Published"),
                ]
            )
        ],
        lines or [row([span(6, "no model was compiled for this device")])],
    )


def _need(one: pandas.Series) -> str:
    """Bytes in GiB, bold where the program does not fit; else why there are none."""
    if one.verdict not in (FITS, TOO_LARGE):
        return escape(one.status or "no status")
    needs = gib(one.hbm_bytes)
    return needs if one.verdict == FITS else rf"\textbf{{{needs}}}"


def _keys(newest: pandas.DataFrame) -> list[tuple[str, str, str]]:
    """Programs in grid order, a workload's sizes from the smallest, frameworks beside each other."""
    workloads = list(newest.workload.drop_duplicates())
    rows = newest.assign(place=newest.workload.map(workloads.index))
    rows = rows.sort_values(["place", "batch", "sequence", "framework"], kind="stable")
    return list(rows[KEYS].itertuples(index=False, name=None))


def _bytes(one: pandas.Series) -> list[str]:
    """Arguments, outputs, temporaries, aliases, sum, spare, verdict and who gave it."""
    if one.verdict not in (FITS, TOO_LARGE):
        return [span(8, _failure(one))]
    spare = one.usable_bytes - one.hbm_bytes
    return [*(gib(one[name]) for name in PARTS), gib(spare), one.verdict, escape(one.decided_by)]


def _older(one: pandas.Series | None) -> list[str]:
    """Bytes and verdict of the oldest compiler."""
    if one is None:
        return ["---", "---"]
    if one.verdict not in (FITS, TOO_LARGE):
        return ["---", escape(one.status or "no status")]
    who = f", {one.decided_by}" if one.verdict == TOO_LARGE else ""
    return [gib(one.hbm_bytes), escape(one.verdict + who)]


def _failure(one: pandas.Series) -> str:
    message = (one.message.splitlines() or [""])[0]
    if len(message) > 60:
        message = message[:58].rsplit(" ", 1)[0] + " ..."
    return f"{one.status or 'no status'}: {message}" if message else one.status or "no status"


def gib(size: float) -> str:
    """GiB with two decimals, three below ten; a dash where the compiler does not report it."""
    if is_missing(size):
        return "---"
    value = size / 2**30
    if value and abs(value) < 0.0005:
        return "$<$0.001" if value > 0 else "$>$$-$0.001"
    text = f"{abs(value):.{2 if abs(value) >= 10 else 3}f}" if value else "0"
    return f"$-${text}" if value < 0 else text


def _ratio(cycles: pandas.Series, key: tuple[str, str, str], baselines: dict[str, str]) -> str:
    """The subject's estimated cycles over its baseline's, in the subject's row."""
    base = (key[0], key[1], baselines.get(key[2]))
    if base not in cycles.index:
        return "---"
    one, other = cycles[key], cycles[base]
    return "---" if is_missing(one) or is_missing(other) else significant(one / other)


def _header(order: list[str]) -> list[str]:
    newest = escape(compiler_title(order[-1])) if order else "no compiler"
    oldest = escape(compiler_title(order[0])) if len(order) > 1 else "no other"
    return [
        rf"& & & & \multicolumn{{8}}{{c}}{{{newest}}} & \multicolumn{{2}}{{c}}{{{oldest}}} & \\",
        r"\cmidrule(lr){5-12}\cmidrule(lr){13-14}",
        row(
            [
                *("Workload", "Batch", "Framework", "Published"),
                *("{Arg.}", "{Out.}", "{Temp.}", "{Alias}", "{HBM}", "{Spare}", "Verdict", "by"),
                *("{HBM}", "Verdict", "{Cycles}"),
            ]
        ),
    ]


def _note(here: pandas.DataFrame, order: list[str]) -> str:
    known = here.dropna(subset=["usable_bytes"])
    usable = [
        f"{gib(rows.usable_bytes.max())} GiB by {escape(compiler_title(name))}"
        for name in order
        if len(rows := known[known.compiler == name])
    ]
    said = " and ".join(usable) if usable else "not known"
    return (
        rf"Batch: batch$\times$sequence, or batch alone. Published: the original's outcome on a "
        rf"{target_title(TARGET)}. HBM = arguments + outputs + temporaries $-$ aliases; usable: {said}; "
        r"spare: usable $-$ HBM. By: the compiler itself, or its bytes, compared with those usable. "
        r"Cycles: the compiler's own estimate, over the baseline's; not measured. A dash: not reported, "
        r"not published, or the baseline's own row. " + origins(here)
    )
