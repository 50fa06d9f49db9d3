"""The native rows of cells.csv: one for each cell that the configuration asks for, with the audit of its result.

`numbers` returns the numbers of an ok cell, from its raw samples and the values of its processes. A result without
expected values is judged by the other frameworks. None of them is the standard: a value is right if a strict majority
of the frameworks, this one included, has it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from stackwars.core import machine
from stackwars.core.documents import Row, event
from stackwars.core.outcome import Status
from stackwars.core.ratio import geometric_mean
from stackwars.measure import loops, nodes, workloads
from stackwars.measure.checks import output_problems, problems, relative_l2
from stackwars.measure.peak import floor_ms
from stackwars.measure.process_value import ProcessValue
from stackwars.measure.steady import AT_ONCE, NONE, SLOWING, WARM_UP
from stackwars.study import cells
from stackwars.study.cells import Cell
from stackwars.study.comparisons import baseline
from stackwars.study.keys import Config
from stackwars.study.results import schema, verdicts
from stackwars.study.results.raw import Raw, errors

_RATES = ("items_per_s", "slow_runs", "returned_share", "returned_over_steady")
"""Columns that follow from times; a wrong or invalid cell has none of them."""
JUDGED = (Status.OK, Status.WRONG)
"""Statuses of cells whose processes ended well."""
NO_MAJORITY = "none"
LEFT_OUT = "left out: the run has no rounds for it"
QUIET_SHARE = 0.5
"""Share of uncontended blocks below which times may reflect what else ran on the machine."""
CLASSES = (AT_ONCE, WARM_UP, SLOWING, NONE)
"""Classes of steady state, the best first."""
Key = TypeVar("Key")


def rows(config: Config, raw: Raw) -> list[Row]:
    """Return a row for every cell, in the order of the grid."""
    result = {cell: _row(config, cell, raw) for cell in cells.asked(config)}
    for workload, device in dict.fromkeys((cell.workload, cell.device) for cell in result):
        _audit(
            config, raw, {c: row for c, row in result.items() if (c.workload, c.device) == (workload, device)}
        )
    return list(result.values())


def head(workload: str, mode: str, framework: str, device: str) -> Row:
    """Return the columns that identify a row of cells.csv."""
    module = workloads.load(workload)
    return {
        "mode": mode,
        "workload": workload,
        "title": module.TITLE,
        "kind": module.KIND,
        "table": module.TABLE,
        "framework": framework,
        "device": device,
    }


def _row(config: Config, cell: Cell, raw: Raw) -> Row:
    workload, sizes = workloads.load(cell.workload), cells.sizes(config, cell.workload)
    row = head(cell.workload, schema.NATIVE, cell.framework, cell.device) | {
        "baseline": baseline(config, cell.framework) or "",
        "flops": workload.flops(sizes),
    }
    result = raw.cells.get(cell)
    if result is None:
        is_left_out = not cells.rounds(config, cell.framework, cell.workload, cell.device)
        missing = LEFT_OUT if is_left_out else "no result"
        reason = raw.devices.get(cell.device, {}).get(cell.framework, {}).get("reason", missing)
        return row | {"status": Status.NOT_RUN, "status_detail": reason, "rounds": 0}
    row |= {key: result[key] for key in ("status", "status_detail", "peak_rss_bytes", "wall_s")}
    row |= judged(result.get("values"))
    row |= {
        "rounds": sum(process["repeated"] for process in result["processes"]),
        "nodes": " ".join(sorted(nodes.of(result["processes"]))),
    }
    if result["status"] == Status.OK:
        row |= numbers(result, raw.cell_values[cell], workload)
        row |= {name: result["ir"][name] for name in ("dtype", "precision")}
        if peak := nodes.peak_of(raw.peaks.get(cell.device, []), result["machine"]):
            row["floor_ms"] = floor_ms(row["flops"], workload.minimum_bytes(sizes), peak)
    return row


def _audit(config: Config, raw: Raw, of_workload: dict[Cell, Row]) -> None:
    """Judge the cells of one workload on one device; blank the times of those that are wrong or invalid."""
    measured = {}
    for cell, row in of_workload.items():
        if row["status"] in JUDGED:
            if problem := provenance_error(cell, raw):
                _blank(row, Status.INVALID, problem)
            else:
                measured[cell] = row
    _judge_without_expected(config, raw, measured)
    _compare_losses(config, raw, measured)
    for cell, row in measured.items():
        if row["status"] == Status.WRONG:
            row["struck_ms"] = _steady_ms(raw.cells[cell])
            _blank(row, Status.WRONG, row["status_detail"])
        elif problem := _numbers_refused(cell, row, raw):
            _blank(row, Status.INVALID, problem)


def _judge_without_expected(config: Config, raw: Raw, measured: dict[Cell, Row]) -> None:
    """Judge the cells that were compared with no expected values by what most frameworks computed."""
    outputs = {cell: raw.outputs[cell] for cell, row in measured.items() if row["status"] == Status.OK}
    distances = majority_distances(outputs, relative_error)
    for cell in outputs:
        if raw.cells[cell].get("values"):
            continue
        row, error = measured[cell], distances.get(cell)
        limit = cells.parity_limit(config, cell.workload)
        row |= {"parity_rel_l2": error, "parity_limit": limit, "judge": majority(distances, limit)}
        if row["judge"] != NO_MAJORITY and error > limit:
            row |= {
                "status": Status.WRONG,
                "status_detail": f"outputs differ from those of the {row['judge']}: relative L2 error {error:.2e}, "
                f"over {limit:.0e}",
            }


def judged(values: dict | None) -> Row:
    """Return the columns of outputs that were compared with expected values; none if they were not."""
    if not values:
        return {}
    error = errors(values)
    return {
        "judge": values["judge"],
        "parity_rel_l2": error["l2"],
        "parity_limit": values["limit"],
        "largest_error": error["largest_error"],
        "wrong_elements": values["wrong"],
    }


def _numbers_refused(cell: Cell, row: Row, raw: Raw) -> str:
    """Return why the numbers of a cell mean nothing; empty if they do."""
    if row.get("losses") == "differs":
        return f"losses part by {row['losses_apart']:.2e}, over {row['losses_bound']:.0e}"
    processes = raw.cells[cell]["processes"]
    result = [problem for process in processes for problem in problems(process, row.get("floor_ms"))]
    if workloads.load(cell.workload).SETS_DIFFER:
        result += output_problems(raw.outputs[cell])
    return result[0] if result else ""


def provenance_error(cell: Cell, raw: Raw) -> str:
    """Return why a result is not of this cell in this run; empty if it is."""
    result = raw.cells[cell]
    measured = Cell(result["framework"], result["workload"], result["device"])
    again = f"fix: delete {cell.path}, and it is measured again"
    if measured != cell:
        return f"expected the result of this cell, got that of {measured.path}; {again}"
    # Every time has the floor of its own machine.
    peaks = raw.peaks.get(cell.device, [])
    records = [process["machine"] for process in result["processes"]]
    others = {machine.described(r) for r in records if peaks and not nodes.peak_of(peaks, r)}
    if others:
        known = "; ".join(machine.described(peak["machine"]) for peak in peaks)
        got = "; ".join(sorted(others))
        return f"expected a result of the machine of this run ({known}), got one of {got}; {again}"
    if len(found := nodes.of(result["processes"])) > 1:
        return f"expected processes of one node, got {', '.join(sorted(found))}; {again}"
    return ""


def _compare_losses(config: Config, raw: Raw, measured: dict[Cell, Row]) -> None:
    """Write how far each ok cell's losses are from most frameworks' losses; nothing without training."""
    workload = next((cell.workload for cell in measured), None)
    rel = getattr(workloads.load(workload), "losses_rel", None) if workload else None
    if rel is None:
        return
    bound = rel(cells.sizes(config, workload))
    series = {cell: losses_of(raw.cells[cell]) for cell, row in measured.items() if row["status"] == Status.OK}
    for cell, apart in majority_distances(series, losses_apart).items():
        agreement = "differs" if apart > bound else "agrees"
        measured[cell] |= {"losses_apart": apart, "losses_bound": bound, "losses": agreement}


def _steady_ms(result: dict) -> float | None:
    """Return the steady time of a cell whose values are wrong; None if one of its processes has none."""
    every = [loops.loops_of(process) for process in result["processes"]]
    return geometric_mean([loops.side_ms(events) for events in every]).value if all(every) else None


def _blank(row: Row, status: str, detail: str) -> None:
    """Set the status of a row, and empty the columns that follow from its times."""
    for column in row:
        if column in _RATES or (column.endswith("_ms") and column not in ("floor_ms", "struck_ms")):
            row[column] = None
    row |= {"status": status, "status_detail": detail}


def majority_distances(values: dict[Key, Any], between: Callable[[Any, Any], float]) -> dict[Key, float]:
    """Return each value's distance to the others: at most this far away are enough of them for a strict majority.

    That is the lower median of its distances to the others. A value without others is left out.
    """
    result = {}
    for key, value in values.items():
        others = [between(value, other) for name, other in values.items() if name != key]
        if others:
            result[key] = statistics.median_low(others)
    return result


def majority(errors: dict[Key, float], limit: float) -> str:
    """Return ``majority of 5 frameworks``, or ``none`` if no majority agrees within the limit."""
    has_majority = any(error <= limit for error in errors.values())
    return f"majority of {len(errors)} frameworks" if has_majority else NO_MAJORITY


def relative_error(one: np.ndarray, other: np.ndarray) -> float:
    """Return the relative L2 error of two samples of outputs; an equal NaN or infinity is no error."""
    if one.shape != other.shape:
        return float("inf")
    same = ~np.isfinite(one) & ((one == other) | (np.isnan(one) & np.isnan(other)))
    with np.errstate(invalid="ignore"):
        return relative_l2(one[~same], other[~same])


def numbers(result: dict, values: dict[int, ProcessValue], workload: ModuleType) -> dict:
    """Return {column of cells.csv: value}: latencies, compile counts, parts of run 1 and throughput.

    result: the content of an ok cell.json; values: of its processes, by round.
    """
    processes = result["processes"]
    names = ("first", "second", "steady", "throughput", "dispatch")
    calls = {name: [one for process in processes if (one := event(process, name))] for name in names}
    milliseconds = {
        "first": [one["ns"] / 1e6 for one in calls["first"]],
        "second": [one["ns"] / 1e6 for one in calls["second"]],
        "steady": [value.loops_ms for value in values.values()],
    }
    row = {}
    for name, series in milliseconds.items():
        row |= times(name, series)
    classified = [value for value in values.values() if value.kind is not None]
    kinds = [value.kind for value in classified]
    # The class of most processes; of two equally frequent classes, the less steady one.
    usual = max(CLASSES, key=lambda kind: (kinds.count(kind), CLASSES.index(kind)))
    warmup = statistics.median_low(value.warmup for value in classified if value.kind == usual)
    return {
        **row,
        "steady_processes": len(values),
        **gate(values),
        "steady_class": usual,
        "warmup_points": warmup,
        "cores": cores(map(loops.loops_of, processes)),
        **_throughput(calls["throughput"]),
        # The most that any process did: a compilation in one process of ten must not disappear.
        **{f"compiles_{name}": _maximum(one["compiles"] for one in calls[name]) for name in names[:3]},
        "cache_hits_first": max(one["cache_hits"] for one in calls["first"]),
        **_first_split(calls["first"]),
        **_slow_runs(calls["second"], usual, warmup),
        **_returned(calls["dispatch"], len(processes), row["steady_ms"]),
        "items_per_s": workload.items(result["sizes"]) / (row["steady_ms"] / 1e3),
    }


def gate(values: dict[int, ProcessValue]) -> dict[str, float | bool]:
    """Return the share of uncontended blocks of the processes that have a series, and whether it is enough."""
    kept_share = statistics.fmean(value.kept for value in values.values() if value.kept is not None)
    return {"gated": kept_share >= QUIET_SHARE, "kept_share": kept_share}


def cores(rounds: Iterable[Sequence[dict]]) -> float:
    """Return the cores that the loops of a round used: the median over the rounds."""
    return statistics.median(
        sum(one["run_ns"] for one in every) / sum(sum(one["ns"]) for one in every) for every in rounds
    )


def _throughput(events: Sequence[dict]) -> dict[str, float]:
    """Return the time of a call in batches with one fence; nothing if no process has one."""
    if not events:
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


def _returned(events: list[dict], processes: int, steady_ms: float) -> dict[str, float]:
    """Return how soon a steady call returns, as a share of the time until it is done and of the steady state.

    Medians over the processes of the median of their calls. Nothing unless the first process has measured it, or in
    older cells each: of calls near a second, some have not.
    """
    if len(events) not in (1, processes):
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
