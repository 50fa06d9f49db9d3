"""The published numbers beside ours: one pair per published workload and framework variant."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas

from stackwars.results.read_cells import BASELINE, short_status
from stackwars.results.values import is_missing, is_true
from stackwars.results.verdicts import NO_DATA, agreement

PUBLISHED_COLUMNS = {
    "first": "first_run_ms",
    "second": "second_run_ms",
    "steady": "steady_state_ms",
}
SUBJECT = "torch_xla"  # what the original calls PyTorch
PENDING = "torch_xla_pending"  # our variant of it; compared with the same published numbers


@dataclass(frozen=True)
class Pair:
    """A ratio framework/JAX there and here. Ratios are empty where a side has no number."""

    workload: str
    title: str
    framework: str
    device: str = "cpu"
    published: dict[str, float] = field(default_factory=dict)  # first, second, steady
    published_status: str = ""  # why there is no published ratio
    ours: dict[str, float] = field(default_factory=dict)
    status: str = ""  # why there is no ratio here
    ends: dict[str, tuple[float, float]] = field(default_factory=dict)  # their 95 % intervals
    gated: bool = False  # of uncontended blocks alone: our steady ratio
    contended: bool = False  # see ratios.csv
    origin: str = ""
    verdict: str = NO_DATA  # on our steady ratio
    agreement: str = ""


def pairs(frame: pandas.DataFrame, ratios: pandas.DataFrame, there: pandas.DataFrame) -> list[Pair]:
    """Every published workload that is in this run's grid, on the CPU, in the published order."""
    cells = frame[frame.device == "cpu"].set_index(["workload", "framework"])
    found = []
    for workload in there.workload.drop_duplicates():
        for framework in (SUBJECT, PENDING):
            if (workload, framework) in cells.index and (workload, BASELINE) in cells.index:
                found.append(_pair(cells, ratios, there, workload, framework))
    return found


def ratio_row(ratios: pandas.DataFrame, workload: str, framework: str, device: str) -> dict:
    """The row of ratios.csv for one comparison with the baseline; empty if there is none."""
    rows = ratios[
        (ratios.workload == workload)
        & (ratios.framework == framework)
        & (ratios.device == device)
        & (ratios.baseline == BASELINE)
    ]
    return rows.iloc[0].to_dict() if len(rows) else {}


def ratio_ends(row: dict, stage: str) -> tuple[float, float]:
    """The 95 % interval of a stage's ratio in a row of ratios.csv."""
    return row[f"{stage}_ratio_low"], row[f"{stage}_ratio_high"]


def published_ratios(there: pandas.DataFrame, workload: str) -> tuple[dict[str, float], str]:
    """The ratios PyTorch/JAX of the three stages as published, or why there are none."""
    rows = there[there.workload == workload].set_index("framework")
    failed = [
        f"{row.status} in {'JAX' if name == BASELINE else 'PyTorch'}"
        for name, row in rows.iterrows()
        if row.status != "ok"
    ]
    if len(failed) == 2 and rows.status.nunique() == 1:
        return {}, f"{rows.status.iloc[0]} in both"
    if failed:
        return {}, ", ".join(failed)
    ours, base = rows.loc[SUBJECT], rows.loc[BASELINE]
    return {stage: ours[c] / base[c] for stage, c in PUBLISHED_COLUMNS.items()}, ""


def _pair(cells, ratios, there, workload: str, framework: str) -> Pair:
    published, published_status = published_ratios(there, workload)
    subject, base = cells.loc[(workload, framework)], cells.loc[(workload, BASELINE)]
    row = ratio_row(ratios, workload, framework, "cpu")
    both_ok = subject.status == "ok" and base.status == "ok"
    both_ok = both_ok and not is_missing(row.get("steady_ratio"))
    verdict = row["steady_verdict"] if both_ok else NO_DATA
    return Pair(
        workload=workload,
        title=subject.title,
        framework=framework,
        published=published,
        published_status=published_status,
        ours={s: row[f"{s}_ratio"] for s in PUBLISHED_COLUMNS} if both_ok else {},
        status="" if both_ok else _why_not(subject, base),
        ends={s: ratio_ends(row, s) for s in PUBLISHED_COLUMNS} if both_ok else {},
        gated=both_ok and is_true(row["steady_gated"]),
        contended=both_ok and is_true(row["contended"]),
        origin=subject.origin if subject.status != "not run" else "",
        verdict=verdict,
        agreement=agreement(published.get("steady", float("nan")), verdict),
    )


def _why_not(subject: pandas.Series, base: pandas.Series) -> str:
    """Which side has no number, and its status."""
    sides = [(base, "JAX"), (subject, "PyTorch")]
    failed = [(short_status(cell), name) for cell, name in sides if cell.status != "ok"]
    if not failed:
        return "no ratio"
    if len({status for status, _ in failed}) == 1 and len(failed) == 2:
        return f"{failed[0][0]} in both"
    return "; ".join(f"{status} in {name}" for status, name in failed)
