"""Findings about how the numbers were come by: rounds, contention, caches, threads."""

from __future__ import annotations

from collections import Counter

import pandas

from stackwars.frameworks import title
from stackwars.results import verdicts
from stackwars.results.values import is_true
from stackwars.results.verdicts import Finding, finding
from stackwars.setup.device import CPU, CPUS, ONE_THREAD


def protocol_findings(
    frame: pandas.DataFrame, ratios: pandas.DataFrame, context: dict
) -> list[Finding]:
    """What the method section says of this run's cells on the CPU, one core's included."""
    cells = frame[frame.device.isin(CPUS)]
    ok = cells[cells.status == "ok"]
    pairs = ratios[ratios.device.isin(CPUS)]
    names = {(c.workload, c.framework, c.device): _name(c) for _, c in cells.iterrows()}
    contended = pairs[pairs.contended.map(is_true).astype(bool)]
    return [
        _runs(pairs),
        _stops(ok),
        _interleaving(pairs, names),
        _gate(ok, [names[c.workload, c.framework, c.device] for _, c in contended.iterrows()]),
        _caches(ok),
        _one_core(cells[cells.device == ONE_THREAD], context),
    ]


def _name(cell: pandas.Series) -> str:
    """``FFN under torch_xla``, and on which device where that is not all of the CPU."""
    name = f"{cell.title} under {title(cell.framework)}"
    return name if cell.device == CPU else f"{name} on {cell.device}"


def _amount(some: int, total: int) -> str:
    if not total:
        return verdicts.NO_DATA
    if not some:
        return verdicts.NONE_OK
    return verdicts.ALL_OK if some == total else verdicts.SOME_OK


def _runs(pairs: pandas.DataFrame) -> Finding:
    """``runs``: over how many runs, and kinds of machine, the ratios are combined."""
    runs, machines = (
        int(pairs[name].max()) if pairs[name].notna().any() else 0
        for name in ("steady_runs", "steady_machines")
    )
    fewer = pairs[pairs.steady_runs < runs]
    return finding(
        "runs",
        verdicts.SOME if runs > 1 else verdicts.NONE,
        runs=runs,
        machines=machines,
        fewer=sorted({title(name) for name in fewer.framework}),
    )


def held_out_finding(table: pandas.DataFrame) -> Finding:
    """``held_out``: of runs that are left out in turn, how many ratios lie where the others predict them."""
    inside, total = int(table.inside.sum()), int(table.total.sum())
    known = table[table.known.map(is_true).astype(bool)]
    return finding(
        "held_out",
        verdicts.MEASURED if total else verdicts.NO_DATA,
        runs=int(table.run.nunique()),
        inside=inside,
        total=total,
        known_inside=int(known.inside.sum()),
        known_total=int(known.total.sum()),
    )


def _stops(ok: pandas.DataFrame) -> Finding:
    """``stops``: how many rounds there were, and in how many cells what ended them."""
    tally = Counter(ok.stop_reason)
    return finding(
        "stops",
        verdicts.MEASURED if len(ok) else verdicts.NO_DATA,
        total=len(ok),
        by_decision=tally["decided"],
        by_budget=tally["budget"],
        by_maximum=tally["rounds"],
        fewest=ok.rounds.min() if len(ok) else None,
        most=ok.rounds.max() if len(ok) else None,
    )


def _interleaving(pairs: pandas.DataFrame, names: dict[tuple[str, str, str], str]) -> Finding:
    """``interleaving``: how many steady ratios are of processes that took turns, and which are not."""
    apart = pairs[~pairs.steady_interleaved.map(is_true).astype(bool)]
    return finding(
        "interleaving",
        _amount(len(pairs) - len(apart), len(pairs)),
        total=len(pairs),
        taken=len(pairs) - len(apart),
        apart=[names[c.workload, c.framework, c.device] for _, c in apart.iterrows()],
    )


def _gate(ok: pandas.DataFrame, contended: list[str]) -> Finding:
    """``gate``: whether the steady states are of uncontended blocks alone; the contended comparisons."""
    gated = ok.gated.map(is_true).astype(bool)
    return finding(
        "gate",
        _amount(int(gated.sum()), len(ok)),
        gated=int(gated.sum()),
        total=len(ok),
        ungated=[_name(cell) for _, cell in ok[~gated].iterrows()],
        kept_minimum=ok.kept_share.min() if len(ok) else None,
        kept_median=ok.kept_share.median() if len(ok) else None,
        contended=contended,
    )


def _caches(ok: pandas.DataFrame) -> Finding:
    """``caches``: whether every first call compiled what it ran, and took nothing from a disk."""
    hits = ok[ok.cache_hits_first > 0]
    verdict = verdicts.DOES_NOT_HOLD if len(hits) else verdicts.HOLDS
    return finding(
        "caches",
        verdict if len(ok) else verdicts.NO_DATA,
        total=len(ok),
        cells=[_name(cell) for _, cell in hits.iterrows()],
    )


def _one_core(cells: pandas.DataFrame, context: dict) -> Finding:
    """``one_core``: the cells on one core, their threads, and its best rate beside all cores'."""
    ok = cells[cells.status == "ok"]
    peaks = context.get("peaks") or {}
    rates = [peaks.get(device, {}).get("gflop_per_s") for device in CPUS]
    return finding(
        "one_core",
        _amount(len(ok), len(cells)),
        ok=len(ok),
        total=len(cells),
        threads=ok.threads.max() if len(ok) else None,
        used=ok.used_cores.max() if len(ok) else None,
        busiest=[_name(cell) for _, cell in ok[ok.threads > 1].iterrows()],
        gflop_per_s=rates[1],
        all_cores_gflop_per_s=rates[0],
    )
