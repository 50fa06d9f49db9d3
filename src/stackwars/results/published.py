"""What others have published: the original's tables beside ours, one pair per workload and framework variant;
and the times of a lecture."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas

from stackwars import workloads
from stackwars.frameworks import program_of, title
from stackwars.results.read_cells import on_cpu, read_table, short_status
from stackwars.results.values import is_missing, is_true
from stackwars.results.verdicts import NO_DATA, agreement
from stackwars.setup.device import CPU

PUBLISHED_COLUMNS = {
    "first": "first_run_ms",
    "second": "second_run_ms",
    "steady": "steady_state_ms",
}
RETURNED, DONE = "returned", "done"
LECTURE_COLUMNS = {
    "workload": "name of the workload",
    "framework": "jax, torch_eager (PyTorch, operation by operation) or torch_inductor (torch.compile)",
    "what": "the time is until the call returned, or until the device was done",
    "ms": "mean time of a call",
    "plus_minus_ms": "standard deviation between 7 means (PyTorch's two_matmuls: 5), each of 1 to 10,000 calls",
    "device": "where",
}
"""Of paper/published/lecture.csv: the outputs of the notebook "Lecture 09: PyTorch and JAX".

The notebook does not name its device: the kernels that it prints are for compute capability 8.0 and 108
multiprocessors, those of an A100. In mlp_postnorm, PyTorch is allowed TensorFloat-32; everything else is at its
framework's default precision. All elements of elementwise_chain are 1, and mlp_postnorm has 256 sequences of
1024 positions.
"""


def read_lecture(path: Path) -> pandas.DataFrame:
    """The lecture's times: LECTURE_COLUMNS, one row for each workload, framework and `what`.

    :raises ValueError: for a missing column, a row that comes twice, and a word or a time that cannot be.
    """
    table = read_table(path, list(LECTURE_COLUMNS))
    keys = ["workload", "framework", "what"]
    if table[keys].duplicated().any():
        raise ValueError(f"{path}: expected one row for each {', '.join(keys)}; some come twice")
    for column, known in (("workload", workloads.names()), ("what", [RETURNED, DONE])):
        unknown = sorted(set(table[column]) - set(known))
        if unknown:
            raise ValueError(
                f"{path}: {column}: expected one of {', '.join(known)}; came {unknown[0]}"
            )
    if not (table.ms > 0).all() or not (table.plus_minus_ms >= 0).all():
        raise ValueError(
            f"{path}: expected times over 0 ms, and deviations of at least 0; some are not"
        )
    return table


@dataclass(frozen=True)
class Pair:
    """A ratio subject/baseline there and here. Ratios are empty where a side has no number."""

    workload: str
    title: str
    framework: str
    device: str = CPU
    published: dict[str, float] = field(default_factory=dict)  # first, second, steady
    published_status: str = ""  # why there is no published ratio
    ours: dict[str, float] = field(default_factory=dict)
    status: str = ""  # why there is no ratio here
    ends: dict[str, tuple[float, float]] = field(default_factory=dict)  # their 95 % intervals
    gated: bool = False  # of uncontended blocks alone: our steady ratio
    contended: bool = False  # see ratios.csv
    verdict: str = NO_DATA  # on our steady ratio
    agreement: str = ""


def pairs(frame: pandas.DataFrame, ratios: pandas.DataFrame, there: pandas.DataFrame) -> list[Pair]:
    """Every published workload that is in this run's grid, on the CPU, in the published order.

    A variant is compared with the published numbers of the framework that it varies.
    """
    found = []
    for workload, rows in there.groupby("workload", sort=False):
        cells = on_cpu(frame[frame.workload == workload]).set_index("framework")
        for framework, cell in cells[cells.baseline.isin(cells.index)].iterrows():
            if {program_of(framework), cell.baseline} <= set(rows.framework):
                found.append(_pair(cells, ratios, there, framework))
    return found


def ratio_row(ratios: pandas.DataFrame, workload: str, framework: str, device: str) -> dict:
    """The row of ratios.csv of one subject; empty if there is none."""
    rows = ratios[
        (ratios.workload == workload) & (ratios.framework == framework) & (ratios.device == device)
    ]
    return rows.iloc[0].to_dict() if len(rows) else {}


def ratio_ends(row: dict, stage: str) -> tuple[float, float]:
    """The 95 % interval of a stage's ratio in a row of ratios.csv."""
    return row[f"{stage}_ratio_low"], row[f"{stage}_ratio_high"]


def published_ratios(
    there: pandas.DataFrame, workload: str, subject: str, baseline: str
) -> tuple[dict[str, float], str]:
    """The ratios subject/baseline of the three stages as published, or why there are none."""
    rows = there[there.workload == workload].set_index("framework").loc[[baseline, subject]]
    failed = [f"{row.status} in {row.title}" for _, row in rows.iterrows() if row.status != "ok"]
    if len(failed) == 2 and rows.status.nunique() == 1:
        return {}, f"{rows.status.iloc[0]} in both"
    if failed:
        return {}, ", ".join(failed)
    ours, base = rows.loc[subject], rows.loc[baseline]
    return {stage: ours[c] / base[c] for stage, c in PUBLISHED_COLUMNS.items()}, ""


def _pair(cells, ratios, there, framework: str) -> Pair:
    subject = cells.loc[framework]
    workload, base = subject.workload, cells.loc[subject.baseline]
    published, published_status = published_ratios(
        there, workload, program_of(framework), subject.baseline
    )
    row = ratio_row(ratios, workload, framework, CPU)
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
        verdict=verdict,
        agreement=agreement(published.get("steady", float("nan")), verdict),
    )


def _why_not(subject: pandas.Series, base: pandas.Series) -> str:
    """Which side has no number, and its status."""
    sides = [(base, title(base.name)), (subject, title(subject.name))]
    failed = [(short_status(cell), name) for cell, name in sides if cell.status != "ok"]
    if not failed:
        return "no ratio"
    if len({status for status, _ in failed}) == 1 and len(failed) == 2:
        return f"{failed[0][0]} in both"
    return "; ".join(f"{status} in {name}" for status, name in failed)
