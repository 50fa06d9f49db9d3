"""cells.csv: everything that a run measured, one row a cell: native cells, replays, growing sizes, shapes, devices.

There is a native row for each cell that the configuration selects, with the audit of its result. A result without
expected values is judged by the other frameworks. None of them is the standard: a value is right if a strict majority
of the frameworks, this one included, has it.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from stackwars.core import machine
from stackwars.core.documents import Row, event
from stackwars.core.hlo import COLLECTIVES
from stackwars.core.outcome import Status
from stackwars.core.ratio import geometric_mean
from stackwars.measure import checks, loops, nodes, workloads
from stackwars.measure.peak import floor_ms
from stackwars.measure.process_value import ProcessValue
from stackwars.measure.steady import AT_ONCE, NONE, SLOWING, WARM_UP
from stackwars.setup.device import CPU
from stackwars.study import cells, growth, programs
from stackwars.study.cells import Cell
from stackwars.study.keys import Config
from stackwars.study.programs import ReplayCell
from stackwars.study.results import schema, verdicts
from stackwars.study.results.raw import Raw, errors
from stackwars.study.studies import PROGRAMS, baseline, comparisons

_RATES = ("items_per_s", "slow_runs", "returned_share", "returned_over_steady")
"""Columns that follow from times; a wrong or invalid cell has none of them."""
NO_MAJORITY = "none"
LEFT_OUT = "left out: the run has no rounds for it"
CLASSES = (AT_ONCE, WARM_UP, SLOWING, NONE)
"""Classes of steady state, the best first."""
Key = TypeVar("Key")


def build(config: Config, raw: Raw) -> pd.DataFrame:
    """Return cells.csv: native cells in the order of the grid, then replays, growth, shapes and several devices."""
    rows = [*native(config, raw), *replayed(config, raw), *grown(raw), *sharded(config, raw)]
    return schema.table("cells", rows)


def native(config: Config, raw: Raw) -> list[Row]:
    places: dict[tuple[str, str], dict[Cell, Row]] = {}
    result = []
    for cell in cells.asked(config):
        result.append(_native_row(config, cell, raw))
        places.setdefault((cell.workload, cell.device), {})[cell] = result[-1]
    for rows in places.values():
        _audit(config, raw, rows)
    return result


def head(workload: str, mode: str, framework: str, device: str) -> Row:
    module = workloads.load(workload)
    names = {"title": module.TITLE, "kind": module.KIND, "table": module.TABLE}
    return {"mode": mode, "workload": workload, **names, "framework": framework, "device": device}


def _native_row(config: Config, cell: Cell, raw: Raw) -> Row:
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
    row["rounds"] = sum(process["repeated"] for process in result["processes"])
    row["nodes"] = " ".join(sorted(nodes.of(result["processes"])))
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
        if row["status"] in (Status.OK, Status.WRONG):
            if problem := _provenance_error(cell, raw):
                _blank(row, Status.INVALID, problem)
            else:
                measured[cell] = row
    _judge_without_expected(config, raw, measured)
    _compare_losses(config, raw, measured)
    for cell, row in measured.items():
        processes = raw.cells[cell]["processes"]
        if row["status"] == Status.WRONG:
            timed = [loops.loops_of(process) for process in processes]
            row["struck_ms"] = (
                geometric_mean([loops.side_ms(one) for one in timed]).value if all(timed) else None
            )
            _blank(row, Status.WRONG, row["status_detail"])
            continue
        refused = [
            problem for process in processes for problem in checks.problems(process, row.get("floor_ms"))
        ]
        if workloads.load(cell.workload).SETS_DIFFER:
            refused += checks.output_problems(raw.outputs[cell])
        if row.get("losses") == "differs":
            refused = [f"losses part by {row['losses_apart']:.2e}, over {row['losses_bound']:.0e}"]
        if refused:
            _blank(row, Status.INVALID, refused[0])


def _provenance_error(cell: Cell, raw: Raw) -> str:
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
    if len(used := nodes.of(result["processes"])) > 1:
        return f"expected processes of one node, got {', '.join(sorted(used))}; {again}"
    return ""


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
            row["status"] = Status.WRONG
            row["status_detail"] = (
                f"outputs differ from those of the {row['judge']}: relative L2 error {error:.2e}, over {limit:.0e}"
            )


def _compare_losses(config: Config, raw: Raw, measured: dict[Cell, Row]) -> None:
    """Write how far each ok cell's losses are from most frameworks' losses; nothing without training."""
    workload = next((cell.workload for cell in measured), None)
    if workload is None or not workloads.load(workload).TRAINS:
        return
    bound = workloads.load(workload).losses_rel(cells.sizes(config, workload))
    series = {
        cell: event(raw.cells[cell]["processes"][0], "losses").get("values", [])
        for cell, row in measured.items()
        if row["status"] == Status.OK
    }
    for cell, apart in majority_distances(series, losses_apart).items():
        agreement = "differs" if apart > bound else "agrees"
        measured[cell] |= {"losses_apart": apart, "losses_bound": bound, "losses": agreement}


def _blank(row: Row, status: str, detail: str) -> None:
    """Set the status of a row, and empty the columns that follow from its times."""
    for column in row:
        if column in _RATES or (column.endswith("_ms") and column not in ("floor_ms", "struck_ms")):
            row[column] = None
    row |= {"status": status, "status_detail": detail}


def judged(values: dict | None) -> Row:
    """Return the columns of outputs that were compared with expected values; none if they were not."""
    if not values:
        return {}
    error = errors(values)
    judge = {"judge": values["judge"], "parity_rel_l2": error["l2"], "parity_limit": values["limit"]}
    return judge | {"largest_error": error["largest_error"], "wrong_elements": values["wrong"]}


def majority_distances(values: dict[Key, Any], between: Callable[[Any, Any], float]) -> dict[Key, float]:
    """Return for each value the distance within which enough others lie for a strict majority.

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
        return checks.relative_l2(one[~same], other[~same])


def losses_apart(one: list[float], other: list[float]) -> float:
    """Return the largest relative difference of a step's loss; infinite if the numbers of steps differ."""
    if len(one) != len(other):
        return float("inf")
    return max(abs(a - b) / abs(b) for a, b in zip(one, other, strict=True))


def numbers(result: dict, values: dict[int, ProcessValue], workload: ModuleType) -> Row:
    """Return {column of cells.csv: value}: latencies, compile counts, parts of run 1 and throughput.

    result: the content of an ok cell.json; values: of its processes, by round.
    """
    processes = result["processes"]
    names = ("first", "second", "steady", "throughput", "dispatch")
    calls = {name: [one for process in processes if (one := event(process, name))] for name in names}
    row = {}
    for name in ("first", "second"):
        row |= times(name, [one["ns"] / 1e6 for one in calls[name]])
    row |= times("steady", [value.loops_ms for value in values.values()])
    classified = [value for value in values.values() if value.kind is not None]
    kinds = [value.kind for value in classified]
    # The class of most processes; of two equally frequent classes, the less steady one.
    usual = max(CLASSES, key=lambda kind: (kinds.count(kind), CLASSES.index(kind)))
    warmup = statistics.median_low(value.warmup for value in classified if value.kind == usual)
    # The most that any process did: a compilation in one process of ten must not disappear.
    compiles = {name: _maximum(one["compiles"] for one in calls[name]) for name in names[:3]}
    by_compiles, by_times = verdicts.runs_by_compiles(compiles["second"]), verdicts.runs_by_times(usual, warmup)
    if batches := [statistics.median(one["ns"]) / one["calls"] / 1e6 for one in calls["throughput"]]:
        row["throughput_ms"] = geometric_mean(batches).value
    return {
        **row,
        "steady_processes": len(values),
        **gate(values),
        "steady_class": usual,
        "warmup_points": warmup,
        "cores": cores(map(loops.loops_of, processes)),
        **{f"compiles_{name}": count for name, count in compiles.items()},
        "cache_hits_first": max(one["cache_hits"] for one in calls["first"]),
        **_first_split(calls["first"]),
        "slow_runs": verdicts.slow_runs(by_compiles, by_times),
        "slow_runs_by_compiles": by_compiles,
        **_returned(calls["dispatch"], len(processes), row["steady_ms"]),
        "items_per_s": workload.items(result["sizes"]) / (row["steady_ms"] / 1e3),
    }


def gate(values: dict[int, ProcessValue]) -> dict[str, float | bool]:
    """Return the share of uncontended blocks of the processes that have a series, and whether it is at least half.

    If it is not, the times may reflect what else ran on the machine.
    """
    kept_share = statistics.fmean(value.kept for value in values.values() if value.kept is not None)
    return {"gated": kept_share >= 0.5, "kept_share": kept_share}


def cores(rounds: Iterable[Sequence[dict]]) -> float:
    """Return the cores that the loops of a round used: the median over the rounds."""
    return statistics.median(
        sum(one["run_ns"] for one in events) / sum(sum(one["ns"]) for one in events) for events in rounds
    )


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
    split = {"first_trace_ms": statistics.median(1e3 * one["trace_s"] for one in events)}
    if any(one["compile_s"] is None for one in events):
        return split
    rest = [one["ns"] / 1e6 - 1e3 * one["trace_s"] - 1e3 * one["compile_s"] for one in events]
    compiling = statistics.median(1e3 * one["compile_s"] for one in events)
    return split | {"first_compile_ms": compiling, "first_execute_ms": statistics.median(rest)}


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


def replayed(config: Config, raw: Raw) -> Iterator[Row]:
    """Yield a row for every program of every replay that the configuration selects."""
    baselines = {pair.subject: pair.baseline for pair in comparisons(config, PROGRAMS)}
    for replay in programs.replays(config):
        result = raw.replays.get(replay)
        missing = "no result" if cells.rounds(config, replay.workload, replay.compiler) else LEFT_OUT
        expected = [one.framework for one in programs.replayed(config, replay.workload, replay.compiler)]
        for name in result["programs"] if result else expected:
            row = head(replay.workload, schema.REPLAY, name, replay.device)
            row |= {
                "compiler": replay.compiler,
                "baseline": baselines.get(name, ""),
                "parity_limit": cells.parity_limit(config, replay.workload),
                **{"status": Status.NOT_RUN, "status_detail": missing, "rounds": 0},
            }
            yield row | (_of_program(raw, replay, result, name) if result else {})


def _of_program(raw: Raw, replay: ReplayCell, result: dict, name: str) -> Row:
    program, values = result["programs"][name], raw.replay_values.get((replay, name), {})
    struck_ns = program["struck_ns"]
    row = {
        **{key: program[key] for key in ("status", "status_detail")},
        **judged(program["values"]),
        "struck_ms": None if struck_ns is None else struck_ns / 1e6,
        "rounds": len(values),
        "nodes": " ".join(sorted(nodes.of(result["processes"]))),
    }
    if values:
        row |= times("steady", [value.loops_ms for value in values.values()])
        row["cores"] = cores(program["loops"])
        row |= gate(values)
    return row


def grown(raw: Raw) -> Iterator[Row]:
    """Yield a row for each value of a growing size, and for each call of a process of several shapes.

    A process of several shapes that failed has one row.
    """
    series_nodes: dict[tuple[str, str], set[str]] = {}
    for point, process in raw.growth.items():
        if point.value != growth.ALL:
            series_nodes.setdefault((point.workload, point.framework), set()).update(nodes.of([process]))
    for point, process in raw.growth.items():
        is_series = point.value != growth.ALL
        mode = schema.GROWTH if is_series else schema.SHAPES
        row = _single(head(point.workload, mode, point.framework, CPU), point.size, process)
        row |= {"value": float(point.value)} if is_series else {}
        if process["status"] != Status.OK:
            yield row
        elif is_series:
            yield row | _compile_cost(process, series_nodes[point.workload, point.framework])
        else:
            yield from (row | _shape(one) for one in process["events"] if one["event"] == "shape")


def _single(row: Row, size: str, process: dict) -> Row:
    """Return the row of a process that is measured once."""
    ended = {key: process[key] for key in ("status", "status_detail")}
    return {**row, "size": size, "rounds": 1, **ended}


def _compile_cost(process: dict, series_nodes: set[str]) -> Row:
    """Return the times of one value; nothing but why if several nodes measured its series."""
    if len(series_nodes) > 1:
        got = ", ".join(sorted(series_nodes))
        detail = f"expected one node for all values, got {got}; fix: delete the series"
        return {"status": Status.INVALID, "status_detail": detail}
    first, steady = (event(process, name) for name in ("first", "steady"))
    parts = {f"first_{part}_ms": first[f"{part}_s"] for part in ("trace", "compile")}
    return {
        "first_ms": first["ns"] / 1e6,
        "steady_ms": statistics.median(steady["ns"]) / steady["calls"] / 1e6,
        **{name: None if seconds is None else 1e3 * seconds for name, seconds in parts.items()},
    }


def _shape(call: dict) -> Row:
    """Return the columns of a call with one of several shapes."""
    shape = verdicts.shape(call["turn"] == 0, call["compiles"])
    times = {"first_ms": call["ns"] / 1e6, "compiles_first": call["compiles"]}
    return {"value": call["value"], "pass": call["turn"] + 1, "shape": shape, **times}


def sharded(config: Config, raw: Raw) -> Iterator[Row]:
    """Yield a row for every program that was divided among this machine's devices."""
    common = cells.settings(config).parity_rel_l2
    for point, process in raw.sharded.items():
        row = head(point.workload, schema.SHARDED, point.frontend, CPU) | {"value": point.devices}
        row = _single(row, point.way, process)
        if process["status"] == Status.OK:
            compared = event(process, "compared")
            error, bound = compared["rel_l2"], checks.parity_limit(point.workload, process["sizes"], common)
            emitted = compared["emitted"]
            counts = {"emitted": sum(emitted[kind] for kind in COLLECTIVES), "emitted_bytes": emitted["bytes"]}
            row |= {"parity_rel_l2": error, "parity_limit": bound}
            row["collectives"] = json.dumps(counts | compared["partitioned"])
            if error > bound:
                detail = f"relative L2 error {error:.2e} against one device, over {bound:.0e}"
                row |= {"status": Status.INVALID, "status_detail": detail}
        yield row
