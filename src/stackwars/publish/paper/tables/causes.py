"""Why programs differ in time: causes, and frontend or compiler; and which programs are at fault in which compiler."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from textwrap import shorten

import pandas as pd

from stackwars.core.hlo import CLASSES
from stackwars.core.numbers import percent_interval
from stackwars.core.outcome import Status
from stackwars.explain.answer import CAUSE
from stackwars.measure import workloads
from stackwars.measure.frameworks import title
from stackwars.publish.paper.latex import Latex, significant_percent
from stackwars.publish.paper.tables.table import (
    RAGGED,
    Column,
    Ratio,
    Table,
    columns_as,
    frame,
    indexed,
    set_marks,
)
from stackwars.setup.device import CPU
from stackwars.study.results import causes, effects, runs
from stackwars.study.results.dataset import Dataset, Sources
from stackwars.study.results.programs import compiler_title, is_fault
from stackwars.study.results.published import read_faults
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import COMPILER, FRONTEND, INTERACTION, SLOWER

STUDY = effects.STUDY
FAULTS = ("faults", "public_faults")
DETAIL = 120
"""Characters of a cause or of a reason that are shown."""
UNSEPARATED = 1.0
"""A share of a gap whose interval is wider than the whole gap is not printed."""
_GAP = ("workload", "compiler", "subject", "baseline")
PARTS = (FRONTEND, COMPILER, INTERACTION)
SUBSETS = {effects.ALL: "all", effects.XLA_ALONE: "XLA", effects.ONE_EACH: "APIs", effects.BOTH: "both"}
"""Parts of the matrix, and the head of the column that says which effect is the largest there."""


def _profile(data: Dataset) -> pd.DataFrame:
    """Return the profiles of the matrix, and of the workloads that only the first study has."""
    matrix, first = (data.rows("profile", study) for study in (STUDY, next(iter(data.config.studies))))
    return pd.concat([matrix, first[~first["workload"].isin(matrix["workload"])]])


def cause_rows(sources: Sources) -> pd.DataFrame:
    """Return the gaps of the main comparison, with what is known of each."""
    data = sources.dataset_for(STUDY)
    profiles, searches = _profile(data), _searches(data)
    result = []
    for row in causes.main_gaps(data, STUDY):
        run = searches.get((*(row[key] for key in _GAP), row["ratio"]), "all runs")
        result.append(_cause_row(row, causes.carried(row, profiles)) | {"run": run})
    return frame(result)


def _searches(data: Dataset) -> dict[tuple, str]:
    """Return the run of each search and its machine's rate of products: a search belongs to one run on one machine."""
    if not data.is_reference:
        return dict.fromkeys(indexed(data.table("causes"), *_GAP, "ratio"), "this run")
    return {
        key: f"{run.identity}, {run.context['peaks'][CPU]['gflop_per_s']:.0f}"
        for run in runs.read()
        # A run of compilations alone has no rate, and searched no gap in time.
        if CPU in run.context["peaks"]
        for key in indexed(run.table("causes"), *_GAP, "ratio")
    }


def _cause_row(row: dict, profile: dict) -> dict:
    is_missed = not is_missing(profile["gap_ms"]) and not profile["profile_consistent"]
    return {
        "workload": row["title"],
        "pair": f"{title(row['subject'])} / {title(row['baseline'])}",
        "compiler": compiler_title(row["compiler"]),
        "ratio": Ratio(row["ratio"], row["low"], row["high"], SLOWER),
        "gap": Ratio(profile["gap_ms"], marks=set_marks(missed=is_missed)),
        "class": CLASSES.get(profile["op_class"]),
        "share": profile["share"] if profile["op_class"] else None,
        "cause": cause_text(row),
        "closed": _closed(row),
    }


def cause_text(row: dict) -> str:
    """Return the cause of a gap in words, or why there is none and what was tried."""
    if row["verdict"] == CAUSE:
        forms = f"{row['subject_operations']} for {row['baseline_operations']}"
        reason = row["reason"][:1].upper() + row["reason"][1:]
        count, kinds = f"{row['count']:.0f}", f"{row['kinds']:.0f}"
        places = f"{count} places of {kinds} kinds," if row["kinds"] > 1 else f"{count} x"
        return shorten(f"{places} {row['what']}: {forms}. {reason}", DETAIL, placeholder=" ...")
    if not row["verdict"]:
        return "not searched"
    tried = f" (tried: {row['tried']})" if row["tried"] else ""
    return shorten(f"{row['verdict']}: {row['detail']}{tried}", DETAIL, placeholder=" ...")


def _closed(row: dict) -> Latex | None:
    if is_missing(row["closed"]):
        return None
    if row["closed_high"] - row["closed_low"] > UNSEPARATED:
        return Latex("not separable")
    interval = percent_interval(row["closed_low"], row["closed_high"]).replace("-", "$-$")
    return Latex(significant_percent(row["closed"]) + interval)


def effect_rows(sources: Sources) -> pd.DataFrame:
    """Return a row a workload: factors, shares and the largest part; then their mean and its counts."""
    data = sources.dataset_for(STUDY)
    table = data.table("effects")
    result = [_effects(table, name) for name in (*data.study(STUDY).workloads, "all")]
    result = [row for row in result if row]
    counts = []
    for part in PARTS if result else ():
        row = {"workload": f"Largest: {part} ({_letter(part)})", "group": "counts"}
        for subset, head in SUBSETS.items():
            rows = table[(table["subset"] == subset) & (table["effect"] == part)]
            row[head] = str((rows["largest"] == part).sum())
        counts.append(row | dict.fromkeys((*PARTS, "shares"), ""))
    return frame([*result, *counts])


def _effects(table: pd.DataFrame, workload: str) -> dict:
    """Return the row of a workload, or of the mean over all; nothing without a complete block."""
    by_subset = table[table["workload"] == workload]
    rows = by_subset[by_subset["subset"] == effects.ALL].set_index("effect")
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
        largest = by_subset[by_subset["subset"] == subset]["largest"]
        result[head] = _letter(largest.iloc[0]) if largest.any() else ""
    return result


def _letter(part: str) -> str:
    return part[0].upper() if part in PARTS else "none"


def fault_rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each fault: the programs that have it in the same compilers, and their smallest sizes."""
    data = sources.checked()
    checked = data.table("values")
    failed = [is_fault(row, Status.TIMEOUT) for row in checked.to_dict("records")]
    faults = checked[pd.Series(failed, index=checked.index, dtype=bool)]
    alike: dict[tuple, list[pd.DataFrame]] = defaultdict(list)
    for (workload, _, status), rows in faults.groupby(["workload", "framework", "status"], sort=False):
        variants = tuple(dict.fromkeys(rows["variant"]))
        alike[workload, status, variants, tuple(dict.fromkeys(rows["compiler"]))].append(rows)
    result = [_row(pd.concat(rows), checked, compilers) for (*_, compilers), rows in alike.items()]
    whose = "Newest check of each over the accepted runs." if data.is_reference else "Checked in this run."
    return frame(result, whose)


def public_rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each outcome of each program of tests/explain/public that has a known fault."""
    known = read_faults().fillna("")
    keys = ["title", "issue", "sizes", "status", "programs"]
    groups = known[known["status"] != Status.UNSUPPORTED].groupby(keys, sort=False)
    result = []
    for key, rows in groups:
        row = dict(zip(keys, key, strict=True))
        row |= {"sizes": _spelled(row["sizes"]), "programs": _names(map(title, row["programs"].split()))}
        row |= {"compiler": _names(map(compiler_title, rows["compiler"])), "cure": rows["cure"].iloc[0]}
        result.append(row)
    return frame(result)


def _spelled(sizes: str) -> str:
    return sizes.replace(" ", ", ").replace("=", " ").replace("_", " ")


def _row(faults: pd.DataFrame, checked: pd.DataFrame, compilers: tuple[str, ...]) -> dict:
    smallest = min(faults.to_dict("records"), key=lambda row: _extent(row["sizes"]))
    programs = tuple(dict.fromkeys(faults["framework"]))
    same_sizes = _same(checked, smallest, ["workload", "variant"])
    ok = same_sizes[same_sizes["status"] == Status.OK]
    tried = _same(checked, smallest, ["workload", "framework", "compiler"])
    return {
        "workload": smallest["title"],
        "sizes": _spelled(smallest["sizes"]),
        "at": f"{faults['variant'].nunique()} of {len(tried)}",
        "program": _names(map(title, programs)),
        "compiler": _names(map(compiler_title, compilers)),
        "status": smallest["status"],
        "detail": shorten(smallest["status_detail"].partition("\n")[0], DETAIL, placeholder=" ..."),
        "programs": _names(map(title, _common(ok, "compiler", compilers, "framework"))),
        "compilers": _names(map(compiler_title, _common(ok, "framework", programs, "compiler"))),
    }


def _common(ok: pd.DataFrame, column: str, values: tuple[str, ...], wanted: str) -> list[str]:
    """Return the programs (or compilers) that are right with all of these compilers (or programs)."""
    counts = ok[ok[column].isin(values)].groupby(wanted, sort=False)[column].nunique()
    return list(counts[counts == len(values)].index)


def _same(table: pd.DataFrame, row: dict, columns: list[str]) -> pd.DataFrame:
    return table[(table[columns] == [row[name] for name in columns]).all(axis=1)]


def _extent(sizes: str) -> int:
    return math.prod(int(size.partition("=")[2]) for size in sizes.split())


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _wide(share: float) -> str:
    return rf"{RAGGED}p{{{share}\textwidth}}"


TABLES = (
    Table(
        name="causes",
        caption="Gaps between Two Programs in the Same Compiler, and Their Causes",
        rows=cause_rows,
        columns=(
            *columns_as(
                "text", workload="Workload", pair="Slower / faster", compiler="Compiler", run="Run, GFLOP/s"
            ),
            *columns_as("ratio", ratio="Ratio", gap="Gap (ms)"),
            Column("Carried by", "class"),
            Column("Share", "share", "percent"),
            Column("Cause", "cause", align=rf"{RAGGED}p{{0.24\textwidth}}"),
            Column("Closed", "closed"),
        ),
        study=STUDY,
        group_by="workload",
        note=r"""Replays of torch\_xla's and JAX's programs that differ by more than 10\,\% with their whole interval;
        the report has the gaps of other frontends. Run, GFLOP/s: the run that searched
        the cause, and its machine's rate in products, which tells the kind. Ratio: replay of the slower program over
        the faster one's in that run, and so not the mean over kinds in Table~\ref{tab:compilers}. Gap:
        the difference of the profiled calls; carried by: the class of operations that makes up most of it,
        and its share, above 100\,\% if other classes narrow the gap; a dash: not profiled, or the profiles do
        not show the gap. Cause: the smallest set of operations or layouts of arguments whose exchange closes
        at least 80\,\% of the gap: the slower program's, and what the faster one has in their place. Closed:
        share of the gap that the exchange closes in fresh processes. Not searched: no run has searched it.""",
        empty="no gap is over the bound",
        max_rows=40,
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
        F: frontend, C: compiler, I: their interaction. Factor and share are of the newest run that has a workload's
        block. Largest part, if the intervals separate the same one in all runs: in all
        of the matrix, with compilers that are XLA alone (XLA), with one frontend for each API (APIs), and with both
        restrictions.""",
        wide=False,
        separation="2.4pt",
    ),
    Table(
        name="faults",
        caption="Programs with Wrong Values, a Crash or No End, by Compiler",
        rows=fault_rows,
        columns=(
            Column("Workload", "workload"),
            Column("Smallest sizes", "sizes", align=_wide(0.1)),
            Column("At", "at"),
            Column("Programs", "program", align=_wide(0.11)),
            Column("Compilers", "compiler", align=_wide(0.12)),
            Column("Status", "status"),
            Column("What", "detail", align=_wide(0.2)),
            Column("Right programs", "programs", align=_wide(0.12)),
            Column("Right compilers", "compilers", align=_wide(0.11)),
        ),
        group_by="workload",
        note=r"""Smallest sizes: of those at which the programs fail; at: at how many of the sizes that were checked.
        Right programs: those that these compilers compile rightly at the same sizes; right compilers: those that
        compile these programs rightly. A program that no compiler gets right is at fault itself.""",
        empty="no program that was checked is wrong, crashes or does not end",
        max_rows=20,
    ),
    Table(
        name="public_faults",
        caption="Known Faults, Rebuilt as Tests: Which Program Is Wrong in Which Compiler",
        rows=public_rows,
        columns=(
            Column("Program", "title"),
            Column("Report", "issue", align=_wide(0.13)),
            Column("Smallest failing sizes", "sizes", align=_wide(0.12)),
            Column("Compiler", "compiler", align=_wide(0.14)),
            Column("Status", "status"),
            Column("Of the frontends", "programs", align=_wide(0.2)),
            Column("Cured by", "cure", align=_wide(0.22)),
        ),
        note=r"""Every other program that a compiler accepts is right, in these compilers and in the others. A test runs
        a guilty and a right program of each, and fails when a new version repairs the fault. Report: the first that
        describes the fault or led to it; \code{docs/upstream.md} has those that nobody had reported.""",
    ),
)
