"""The numbers of one ok cell, from its raw samples and the values of its processes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from types import ModuleType

from stackwars.core.documents import event
from stackwars.core.ratio import geometric_mean
from stackwars.measure import loops
from stackwars.measure.process_value import ProcessValue
from stackwars.measure.steady import AT_ONCE, NONE, SLOWING, WARM_UP
from stackwars.study.results import verdicts

QUIET_SHARE = 0.5
"""Share of uncontended blocks below which times may reflect what else ran on the machine."""
CLASSES = (AT_ONCE, WARM_UP, SLOWING, NONE)
"""Classes of steady state, the best first."""


def numbers(result: dict, values: dict[int, ProcessValue], workload: ModuleType) -> dict:
    """Return {column of cells.csv: value}: latencies, compile counts, parts of run 1 and throughput.

    result: the content of an ok cell.json; values: of its processes, by round.
    """
    processes = result["processes"]
    calls = {name: [event(process, name) for process in processes] for name in ("first", "second", "steady")}
    milliseconds = {
        "first": [one["ns"] / 1e6 for one in calls["first"]],
        "second": [one["ns"] / 1e6 for one in calls["second"]],
        "steady": [value.loops_ms for value in values.values()],
    }
    row = {}
    for name, series in milliseconds.items():
        row |= times(name, series)
    kinds = [value.kind for value in values.values()]
    # What most processes are, of two equally frequent classes the less steady one.
    usual = max(CLASSES, key=lambda kind: (kinds.count(kind), CLASSES.index(kind)))
    warmup = statistics.median_low(value.warmup for value in values.values() if value.kind == usual)
    kept_share = statistics.fmean(value.kept for value in values.values())
    return {
        **row,
        "steady_processes": len(values),
        "gated": kept_share >= QUIET_SHARE,
        "kept_share": kept_share,
        "steady_class": usual,
        "warmup_points": warmup,
        "cores": cores(map(loops.loops_of, processes)),
        **_throughput([event(process, "throughput") for process in processes]),
        # The most that any process did: a compilation in one process of ten must not disappear.
        **{f"compiles_{name}": _maximum(one["compiles"] for one in calls[name]) for name in calls},
        "cache_hits_first": max(one["cache_hits"] for one in calls["first"]),
        **_first_split(calls["first"]),
        **_slow_runs(calls["second"], usual, warmup),
        **_returned([event(process, "dispatch") for process in processes], row["steady_ms"]),
        "items_per_s": workload.items(result["sizes"]) / (row["steady_ms"] / 1e3),
    }


def cores(rounds: Iterable[Sequence[dict]]) -> float:
    """Return the cores that the loops of a round used: the median over the rounds."""
    return statistics.median(
        sum(one["run_ns"] for one in every) / sum(sum(one["ns"]) for one in every) for every in rounds
    )


def _throughput(events: Sequence[dict]) -> dict[str, float]:
    """Return the time of a call in batches with one fence; nothing if a process has none."""
    if not all(events):
        return {}
    return {
        "throughput_ms": geometric_mean(
            [statistics.median(one["ns"]) / one["calls"] / 1e6 for one in events]
        ).value
    }


def _maximum(counts: Iterable[int | None]) -> int | None:
    """Return the maximum, or None for a framework that compiles nothing."""
    return max((count for count in counts if count is not None), default=None)


def times(name: str, series: Sequence[float]) -> dict[str, float | None]:
    """Return the columns of a time: its geometric mean, the interval, and the smallest and largest process."""
    result = dict(zip((f"{name}_ms", f"{name}_low_ms", f"{name}_high_ms"), geometric_mean(series), strict=True))
    return result | {f"{name}_min_ms": min(series), f"{name}_max_ms": max(series)}


def _first_split(events: list[dict]) -> dict[str, float]:
    """Return medians of run 1 in ms: tracing, compiling, and the rest.

    The trace alone if the framework does not say how long it compiled; nothing if it compiles nothing.
    """
    if any(one["trace_s"] is None for one in events):
        return {}
    trace = [1e3 * one["trace_s"] for one in events]
    split = {"first_trace_ms": statistics.median(trace)}
    if any(one["compile_s"] is None for one in events):
        return split
    compiling = [1e3 * one["compile_s"] for one in events]
    rest = [e["ns"] / 1e6 - t - c for e, t, c in zip(events, trace, compiling, strict=True)]
    return split | {
        "first_compile_ms": statistics.median(compiling),
        "first_execute_ms": statistics.median(rest),
    }


def _slow_runs(second: list[dict], steady_class: str, warmup: float) -> dict[str, str]:
    """Return how many runs were slow, by compilations, by times and by both."""
    by_compiles = verdicts.runs_by_compiles(_maximum(one["compiles"] for one in second))
    by_times = verdicts.runs_by_times(steady_class, warmup)
    return {"slow_runs": verdicts.slow_runs(by_compiles, by_times), "slow_runs_by_compiles": by_compiles}


def _returned(events: list[dict], steady_ms: float) -> dict[str, float]:
    """Return how soon a steady call returns, as a share of the time until it is done and of the steady state.

    Medians over the processes of the median of their calls. Nothing if a process has not measured it.
    """
    if not all(events):
        return {}
    returned = [statistics.median(one["returned_ns"]) for one in events]
    done = [statistics.median(one["total_ns"]) for one in events]
    return {
        "returned_share": statistics.median(part / whole for part, whole in zip(returned, done, strict=True)),
        "returned_over_steady": min(1.0, statistics.median(returned) / 1e6 / steady_ms),
    }


def losses_of(result: dict) -> list[float]:
    """Return the losses of a cell's first process; none if nothing is trained."""
    return event(result["processes"][0], "losses").get("values", [])


def losses_apart(one: list[float], other: list[float]) -> float:
    """Return the largest relative difference of a step's loss; infinite if the numbers of steps differ."""
    if len(one) != len(other):
        return float("inf")
    return max(abs(a - b) / abs(b) for a, b in zip(one, other, strict=True))
