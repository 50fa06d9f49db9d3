"""Why times differ: the gaps between programs, and how much is frontend, compiler or both."""

from __future__ import annotations

import pandas as pd

from stackwars import workloads
from stackwars.compilers.op_classes import CLASSES
from stackwars.frameworks import title
from stackwars.paper.latex import Latex
from stackwars.paper.tables.spec import Column, Ratio, Table, frame, main, set_marks
from stackwars.results import effects
from stackwars.results.dataset import Dataset, Sources
from stackwars.results.names import compiler_title
from stackwars.results.profile import GAP, gaps
from stackwars.results.schema import is_missing
from stackwars.results.verdicts import COMPILER, FRONTEND, INTERACTION

STUDY = effects.STUDY
PARTS = (FRONTEND, COMPILER, INTERACTION)
SUBSETS = {
    effects.ALL: "all",
    effects.XLA_ALONE: "XLA",
    effects.ONE_EACH: "APIs",
    effects.BOTH: "both",
}
"""Parts of the matrix, and the head of the column that says which effect is the largest there."""


def _profile(data: Dataset) -> pd.DataFrame:
    """Return the profiles of the matrix, and of the workloads that only the first study has."""
    matrix, first = (data.rows("profile", study) for study in (STUDY, next(iter(data.config["studies"]))))
    return pd.concat([matrix, first[~first["workload"].isin(matrix["workload"])]])


def unexplained_rows(sources: Sources) -> pd.DataFrame:
    """Return the profiled gaps of the main comparison."""
    data = sources.of(STUDY)
    gap_rows = gaps(data.comparisons(), _profile(data))
    pair = main(sources)
    is_main = (gap_rows["subject"] == pair.subject) & (gap_rows["baseline"] == pair.baseline)
    rows = []
    for gap in gap_rows[is_main & gap_rows["gap_ms"].notna()].to_dict("records"):
        is_missed = not is_missing(gap["gap_ms"]) and not gap["profile_consistent"]
        rows.append(
            {
                "workload": gap["title"],
                "pair": f"{title(gap['subject'])} / {title(gap['baseline'])}",
                "compiler": compiler_title(gap["compiler"]),
                "ratio": Ratio(gap["ratio"], verdict=gap["verdict"]),
                "gap": Ratio(gap["gap_ms"], marks=set_marks(missed=is_missed)),
                "class": CLASSES.get(gap["op_class"]),
                "share": gap["share"] if gap["op_class"] else None,
            }
        )
    return frame(rows)


def effect_rows(sources: Sources) -> pd.DataFrame:
    """Return a row a workload: factors, shares and the largest part; then their mean and its counts."""
    data = sources.of(STUDY)
    table = data.table("effects")
    result = [_effects(table, name) for name in (*data.study(STUDY).workloads, "all")]
    result = [row for row in result if row]
    counts = []
    for part in PARTS if result else ():
        row = {"workload": f"Largest: {part} ({_letter(part)})", "group": "counts"}
        for subset, head in SUBSETS.items():
            own = table[(table["subset"] == subset) & (table["effect"] == part)]
            row[head] = str((own["largest"] == part).sum())
        counts.append(row | dict.fromkeys((*PARTS, "shares"), ""))
    return frame([*result, *counts])


def _effects(table: pd.DataFrame, workload: str) -> dict:
    """Return the row of a workload, or of the mean over all; nothing without a complete block."""
    own = table[table["workload"] == workload]
    rows = own[own["subset"] == effects.ALL].set_index("effect")
    if rows.empty:
        return {}
    shares = " / ".join(f"{round(100 * rows.loc[part, 'share'])}" for part in PARTS)
    name = "All workloads" if workload == "all" else workloads.load(workload).TITLE
    result = {
        "workload": name,
        "group": name if workload == "all" else "one",
        "shares": Latex(shares.replace("-", "$-$")),
    }
    result |= {part: rows.loc[part, "factor"] for part in PARTS}
    for subset, head in SUBSETS.items():
        largest = own[own["subset"] == subset]["largest"]
        result[head] = _letter(largest.iloc[0]) if largest.any() else ""
    return result


def _letter(part: str) -> str:
    return part[0].upper() if part in PARTS else "none"


TABLES = (
    Table(
        name="causes",
        caption="Gaps between Two Programs in the Same Compiler",
        rows=unexplained_rows,
        columns=(
            *(
                Column("Workload", "workload"),
                Column("Program over other", "pair"),
                Column("Compiler", "compiler"),
            ),
            *(Column("Ratio", "ratio", "ratio"), Column("Gap (ms)", "gap", "ratio")),
            *(Column("Carried by", "class"), Column("Share", "share", "percent")),
        ),
        study=STUDY,
        group_by="workload",
        note=rf"""Gaps over {100 * (GAP - 1):.0f}\,\% of the profiled programs. Ratio: replay of the program over the
        other's. Gap: the difference of the profiled calls; carried by: the class of operations that makes up most of
        it, and its share, above 100\,\% if other classes narrow the gap; a dash: the profiles do not show the gap.""",
        empty="no gap is over the bound",
    ),
    Table(
        name="effects",
        caption="How Much of the Time Is Frontend, Compiler, or Both",
        rows=effect_rows,
        columns=(
            Column("Workload", "workload"),
            *(Column(part, part, "number", "Factor") for part in PARTS),
            Column("F / C / I", "shares", "text", r"Share (%)", "c"),
            *(Column(head, head, "text", "Largest part", "c") for head in SUBSETS.values()),
        ),
        study=STUDY,
        group_by="group",
        note=r"""Effects on a replay's time over the complete block of the matrix of frontends and compilers. Factor: by
        what the part moves a time, exp of the standard deviation of its part of the logarithm. Share:
        of the variance of the logarithm; noise between rounds is taken out, so a share may be below 0.
        F: frontend, C: compiler, I: their interaction. Largest part, if the intervals separate one: in
        all of the matrix, with compilers that are XLA alone (XLA), with one frontend for each API
        (APIs), and with both restrictions.""",
        empty="no block of the matrix is complete",
        wide=False,
        separation="2.4pt",
    ),
)
