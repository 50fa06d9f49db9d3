"""Table of the gaps between replayed programs that no edit closes."""

from __future__ import annotations

import pandas

from stackwars.compilers.op_classes import CLASSES
from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.matrix import ELSEWHERE
from stackwars.paper.tables.ratios import SIGNS, SIGNS_NOTE
from stackwars.paper.tables.tabular import GAP, Float, picked, row, span, table, varying
from stackwars.results.gap_causes import GAP as WIDE
from stackwars.results.op_times import ADDS_UP
from stackwars.results.read_compilers import compiler_title
from stackwars.results.values import is_missing, is_true

_OFF = r"$^\dagger$"


def unexplained_table(gap_causes: pandas.DataFrame) -> str:
    """A row for each gap without a cause by an edit: how wide it is, where it lies, and what was tried."""
    keys = ["workload", "subject", "baseline", "compiler"]
    gaps = [gap for _, gap in gap_causes[gap_causes.why == ""].groupby(keys, sort=False)]
    rows = [_cells(gap.iloc[0], gap.set_index("class")) for gap in gaps]
    heads = [
        *("Workload", "Program over other", "Compiler", "{Ratio}", "{Gap (ms)}"),
        *("Carried by", "{Share}", "Tried", "{Closed}"),
    ]
    kept, same = varying(
        heads, rows, {4: "gap", 5: "carried by", 6: "share", 7: "tried", 8: "closed"}
    )
    lines, previous = [], None
    for cells in rows:
        if previous not in (None, cells[0]):
            lines.append(GAP)
        shown = cells if cells[0] != previous else ["", *cells[1:]]
        lines.append(row(picked(shown, kept)))
        previous = cells[0]
    percent = f"{100 * (WIDE - 1):.0f}"
    return table(
        Float(
            label="tab:unexplained",
            caption="Gaps between Programs That No Edit Is Shown to Close",
            columns="".join(picked("lllrrlrlr", kept)),
            note=f"Every gap over {percent}\\,\\% between two programs in the same compiler of which no edit "
            "is shown, by its interval, to close most. Ratio: replay of the program over the other's; "
            + SIGNS_NOTE
            + "Gap: the difference of the profiled calls; carried by: the class of operations that makes up "
            "most of it, and its share, above 100\\,\\% where other classes narrow the gap; a dash: not "
            f"profiled, or the profiles do not show the gap. {_OFF}: the profile of one of the programs misses "
            f"its timed call by more than {100 * ADDS_UP:.0f}\\,\\%. Tried: of the edits replayed, the one "
            "that closes the largest share. " + same + "Origin: this build's; "
            f"{ELSEWHERE}: the gap and what carries it are of the profile of one run of the reference, and the "
            "ratio is not of that run.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(picked(heads, kept))],
        lines or [row([span(9, "no gap is unexplained")])],
    )


def _cells(gap: pandas.Series, classes: pandas.DataFrame) -> list[str]:
    where, share, wide = "---", "---", "---"
    if not is_missing(gap.gap_ms):
        mark = "" if is_true(gap.adds_up) else _OFF
        wide = f"{significant(gap.gap_ms)}{mark}{ELSEWHERE if gap.run else ''}"
    if gap["where"]:
        where, share = CLASSES[gap["where"]], _percent(classes.share[gap["where"]])
    return [
        escape(gap.title),
        escape(f"{title(gap.subject)} / {title(gap.baseline)}"),
        escape(compiler_title(gap.compiler)),
        _signed(gap),
        wide,
        escape(where) if gap["where"] else where,
        share,
        escape(title(gap.tried)) if gap.tried else "---",
        "---" if is_missing(gap.closed) else _percent(gap.closed),
    ]


def _signed(gap: pandas.Series) -> str:
    """The ratio after the sign of its verdict; of a single round it has none."""
    sign = SIGNS.get(gap.verdict)
    return f"{sign}\\,{significant(gap.ratio)}" if sign else significant(gap.ratio)


def _percent(share: float) -> str:
    return rf"{100 * share:.0f}\,\%"
