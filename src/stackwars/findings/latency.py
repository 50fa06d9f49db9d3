"""Findings about time: ratios to the baseline, the number of slow runs, what the first run is spent on."""

from __future__ import annotations

import pandas

from stackwars import frameworks
from stackwars.results import published, verdicts
from stackwars.results.read_cells import on_cpu, short_status
from stackwars.results.values import is_missing, is_true
from stackwars.results.verdicts import Finding, finding
from stackwars.setup.device import CPU, ONE_THREAD
from stackwars.study.comparisons import Comparison

PARTS = {
    "tracing": "first_trace_ms",
    "compiling": "first_compile_ms",
    "executing": "first_execute_ms",
}
BERT = "bert_base"
GEMM = "gemm"
_NUMBERS = {
    "ratio": "ratio",
    "low": "ratio_low",
    "high": "ratio_high",
    "p_holm": "p_holm",
    "detectable": "detectable",
}
_SUFFIXES = {CPU: "", ONE_THREAD: "_1t"}


def ratio_findings(
    stage: str, frame: pandas.DataFrame, ratios: pandas.DataFrame, device: str = CPU
) -> list[Finding]:
    """``<stage>/<workload>/<framework>``: the ratio to its baseline of every CPU cell that has one.

    On one core ``<stage>_1t/...``. The verdict is that of ratios.csv, after Holm's correction.
    """
    found = []
    here = frame[frame.device == device].set_index(["workload", "framework"], drop=False)
    for _, cell in here[here.baseline != ""].iterrows():
        row = published.ratio_row(ratios, cell.workload, cell.framework, device)
        key = (cell.workload, cell.baseline)
        base = here.loc[key] if key in here.index else None
        usable = row and cell.status == "ok" and base is not None and base.status == "ok"
        row = row if usable else {}
        rounds, gated = row.get("rounds"), None
        if usable and stage == "steady":
            rounds, gated = row["steady_rounds"], is_true(row["steady_gated"])
        found.append(
            finding(
                f"{stage}{_SUFFIXES[device]}/{cell.workload}/{cell.framework}",
                row.get(f"{stage}_verdict", verdicts.NO_DATA),
                workload=cell.workload,
                title=cell.title,
                kind=cell.kind,
                framework=cell.framework,
                **{name: row.get(f"{stage}_{column}") for name, column in _NUMBERS.items()},
                rounds=rounds,
                gated=gated,
                contended=is_true(row["contended"]) if usable else None,
                status=short_status(cell),
                baseline_status="not run" if base is None else short_status(base),
            )
        )
    return found


def core_findings(all_cores: list[Finding], one_core: list[Finding]) -> list[Finding]:
    """``cores/<workload>/<framework>``: whether one core and all cores give the steady ratio one direction."""
    by_cell = {(f["workload"], f["framework"]): f for f in all_cores}
    pairs = [(f, by_cell.get((f["workload"], f["framework"]))) for f in one_core]
    return [
        finding(
            f"cores/{one['workload']}/{one['framework']}",
            verdicts.same_direction(one["verdict"], every["verdict"]),
            title=one["title"],
            framework=one["framework"],
            one_core=one["ratio"],
            all_cores=every["ratio"],
        )
        for one, every in pairs
        if every is not None
    ]


def stabilising_findings(
    frame: pandas.DataFrame, there: pandas.DataFrame | None = None
) -> list[Finding]:
    """``stabilising/<workload>/<framework>``: how many runs were slow, by compilations and by times.

    by_compiles: whether the second call compiled. by_times: how many leading points of the series its
    changepoints take off. The verdict is a number of runs only where both say the same. there: the published
    tables, of which a variant has the row of the framework that it varies.
    """
    found = []
    rows = pandas.DataFrame() if there is None else there.set_index(["workload", "framework"])
    for _, cell in on_cpu(frame).iterrows():
        ok = cell.status == "ok"
        key = (cell.workload, frameworks.program_of(cell.framework))
        original = rows.loc[key] if key in rows.index else None
        by_compiles = verdicts.runs_by_compiles(cell.compiles_second if ok else None)
        by_times = verdicts.runs_by_times(cell.steady_class if ok else None, cell.warmup_points)
        found.append(
            finding(
                f"stabilising/{cell.workload}/{cell.framework}",
                verdicts.slow_runs(by_compiles, by_times),
                workload=cell.workload,
                title=cell.title,
                kind=cell.kind,
                framework=cell.framework,
                status=short_status(cell),
                by_compiles=by_compiles,
                by_times=by_times,
                steady_class=cell.steady_class if ok else None,
                warmup_points=cell.warmup_points,
                rounds=cell.rounds,
                compiles_first=cell.compiles_first,
                compiles_second=cell.compiles_second,
                compiles_steady=cell.compiles_steady,
                second_over_steady=cell.second_ms / cell.steady_ms,
                second_over_first=cell.second_ms / cell.first_ms,
                published_second_over_first=None
                if original is None
                else original.second_run_ms / original.first_run_ms,
            )
        )
    return found


def first_run_findings(frame: pandas.DataFrame) -> list[Finding]:
    """``split/<workload>/<framework>``: which part of the first run is the largest."""
    found = []
    for _, cell in on_cpu(frame).iterrows():
        parts = {name: cell[column] for name, column in PARTS.items()}
        largest = verdicts.largest_part(parts) if cell.status == "ok" else verdicts.NO_DATA
        # Of the parts' sum: they are medians over processes, and first_ms is a geometric mean.
        whole = sum(value for value in parts.values() if not is_missing(value))
        share = parts[largest] / whole if largest in parts else None
        found.append(
            finding(
                f"split/{cell.workload}/{cell.framework}",
                largest,
                title=cell.title,
                framework=cell.framework,
                share=share,
                first_ms=cell.first_ms,
                **{f"{name}_ms": value for name, value in parts.items()},
            )
        )
    return found


def gemm_finding(first: list[Finding], there: pandas.DataFrame, pair: Comparison) -> Finding:
    """GEMM's first run, where the original has PyTorch ahead by orders of magnitude."""
    rows = there[there.workload == GEMM].set_index("framework").first_run_ms
    published_too = set(pair.sides) <= set(rows.index)
    ours = [f for f in first if f["id"] == f"first/{GEMM}/{pair.subject}" and published_too]
    ours += [finding("", verdicts.NO_DATA, ratio=None, low=None, high=None)]
    return ours[0] | {
        "id": "gemm_first",
        "published_ratio": rows[pair.subject] / rows[pair.baseline] if published_too else None,
        "published_first_ms": rows[pair.subject] if published_too else None,
    }


def bert_finding(frame: pandas.DataFrame, there: pandas.DataFrame, pair: Comparison) -> Finding:
    """Is BERT-Base's first run under the baseline the longest of the models that the original sets it in
    (its Table II), as published and in this run?"""
    rivals = there[there.table == "II"]
    jax_there = rivals[rivals.framework == pair.baseline].set_index("workload").first_run_ms
    cells = on_cpu(frame)
    cells = cells[(cells.framework == pair.baseline) & (cells.status == "ok")]
    cells = cells[cells.workload.isin(jax_there.index)]
    cells = cells.set_index("workload")
    ends = [f"first{end}_ms" for end in ("", "_low", "_high")]
    intervals = {name: tuple(row[ends]) for name, row in cells.iterrows()}
    others = cells.drop(index=BERT, errors="ignore")
    longest = others.first_ms.idxmax() if len(others) else None
    rank = verdicts.rank_interval(BERT, intervals)
    if rank != verdicts.NOT_LONGEST and not set(jax_there.index) <= set(intervals):
        rank = verdicts.NO_DATA
    return finding(
        "bert_first",
        rank,
        first_ms=cells.first_ms.get(BERT),
        rival=others.title.get(longest) if longest else None,
        rival_first_ms=others.first_ms.get(longest) if longest else None,
        published_first_ms=jax_there.get(BERT),
        published_rival_first_ms=jax_there.drop(BERT, errors="ignore").max(),
    )
