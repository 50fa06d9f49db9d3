"""The numbers of one ok cell, from its raw samples and the values of its processes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from types import ModuleType

from stackwars.frameworks import GENERATED
from stackwars.measure import process_value
from stackwars.measure.checks import used_cores
from stackwars.measure.events import event
from stackwars.measure.process_value import ProcessValue
from stackwars.measure.statistics import geometric_mean
from stackwars.measure.steady import AT_ONCE, NONE, SLOWING, WARM_UP

CLASSES = (AT_ONCE, WARM_UP, SLOWING, NONE)
"""Classes of steady state, the best first."""


def numbers(result: dict, values: dict[int, ProcessValue], workload: ModuleType) -> dict:
    """{column of the frame: value}: latencies, compile counts, split of run 1 and throughput.

    result: the content of an ok cell.json; values: of its processes, by round.
    """
    calls = {
        name: [event(process, name) for process in result["processes"]]
        for name in ("first", "second", "steady")
    }
    steady_ms, gated = process_value.per_round(values)
    milliseconds = {
        "first": [one["ns"] / 1e6 for one in calls["first"]],
        "second": [one["ns"] / 1e6 for one in calls["second"]],
        "steady": list(steady_ms.values()),
        "steady_ungated": [value.all_ms for value in values.values()],
    }
    row = {}
    for name, series in milliseconds.items():
        columns = (f"{name}_ms", f"{name}_low_ms", f"{name}_high_ms")
        row |= zip(columns, geometric_mean(series), strict=True)
    kinds = [value.kind for value in values.values()]
    # What most processes are, of two equally frequent classes the less steady one.
    usual = max(CLASSES, key=lambda kind: (kinds.count(kind), CLASSES.index(kind)))
    seconds, sizes = row["steady_ms"] / 1e3, result["sizes"]
    return {
        **row,
        "steady_processes": len(steady_ms),
        "gated": gated,
        "kept_share": statistics.fmean(value.kept for value in values.values()),
        "steady_class": usual,
        "warmup_points": statistics.median_low(
            value.warmup for value in values.values() if value.kind == usual
        ),
        "steady_calls": sum(len(one["ns"]) * one["calls"] for one in calls["steady"]),
        # The most that any process did: a compilation in one process of ten must not disappear.
        "threads": max(one["threads"] for one in calls["steady"]),
        "used_cores": max(map(used_cores, calls["steady"])),
        **{f"compiles_{name}": _maximum(one["compiles"] for one in calls[name]) for name in calls},
        "cache_hits_first": max(one["cache_hits"] for one in calls["first"]),
        **_first_split(calls["first"]),
        **_returned([event(process, "dispatch") for process in result["processes"]]),
        **_generated([event(process, "timed") for process in result["processes"]]),
        "items_per_s": workload.items(sizes) / seconds,
        "gflop_per_s": workload.flops(sizes) / seconds / 1e9,
    }


def _maximum(counts: Iterable[int | None]) -> int | None:
    """The maximum; None of a framework that compiles nothing."""
    return max((count for count in counts if count is not None), default=None)


def _first_split(events: list[dict]) -> dict[str, float | None]:
    """Medians of run 1: tracing, compiling, and the rest (running, transfers, dispatch), in ms.

    Compiling and the rest are None where the framework does not tell how long it compiled; all are of one
    that compiles nothing.
    """
    if any(one["trace_s"] is None for one in events):
        return dict.fromkeys(("first_trace_ms", "first_compile_ms", "first_execute_ms"))
    trace = [1e3 * one["trace_s"] for one in events]
    parts = {"trace": statistics.median(trace), "compile": None, "execute": None}
    if all(one["compile_s"] is not None for one in events):
        compiling = [1e3 * one["compile_s"] for one in events]
        rest = [e["ns"] / 1e6 - t - c for e, t, c in zip(events, trace, compiling, strict=True)]
        parts |= {"compile": statistics.median(compiling), "execute": statistics.median(rest)}
    return {f"first_{name}_ms": value for name, value in parts.items()}


def _returned(events: list[dict]) -> dict[str, float | None]:
    """How soon a steady call returns, in ms and as a share of the time until it is done.

    Of each process the medians of its calls, of these the median. None where a process does not tell: one
    of a run that was made before it was asked.
    """
    if not all(events):
        return dict.fromkeys(("returned_ms", "returned_share"))
    returned = [statistics.median(one["returned_ns"]) for one in events]
    done = [statistics.median(one["total_ns"]) for one in events]
    shares = [part / whole for part, whole in zip(returned, done, strict=True)]
    return {
        "returned_ms": statistics.median(returned) / 1e6,
        "returned_share": statistics.median(shares),
    }


def _generated(events: list[dict]) -> dict[str, int | None]:
    return {name: _maximum(one.get(name) for one in events) for name in GENERATED}
