"""cells.csv: everything that a run measured, one row a cell.

Native cells are in `stackwars.study.results.native`; here are replays, growing sizes, several shapes and devices.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator

import pandas as pd

from stackwars.core.documents import Row, event
from stackwars.core.hlo import COLLECTIVES
from stackwars.core.outcome import Status
from stackwars.measure import nodes
from stackwars.measure.checks import parity_limit
from stackwars.setup.device import CPU
from stackwars.study import cells, growth, programs
from stackwars.study.comparisons import PROGRAMS, comparisons
from stackwars.study.keys import Config
from stackwars.study.programs import ReplayCell
from stackwars.study.results import native, schema, verdicts
from stackwars.study.results.native import cores, head, times
from stackwars.study.results.raw import Raw


def build(config: Config, raw: Raw) -> pd.DataFrame:
    """Return cells.csv: native cells in the order of the grid, then replays, growth, shapes and several
    devices.
    """
    return schema.table(
        "cells", [*native.rows(config, raw), *replayed(config, raw), *grown(raw), *sharded(config, raw)]
    )


def replayed(config: Config, raw: Raw) -> Iterator[Row]:
    """Yield a row for every program of every replay that the configuration asks for."""
    baselines = {pair.subject: pair.baseline for pair in comparisons(config, PROGRAMS)}
    for replay in programs.replays(config):
        result = raw.replays.get(replay)
        missing = "no result" if cells.rounds(config, replay.workload, replay.compiler) else native.LEFT_OUT
        asked = [one.framework for one in programs.replayed(config, replay.workload, replay.compiler)]
        for name in result["programs"] if result else asked:
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
    struck_ns = program.get("struck_ns")
    row = {
        **{key: program[key] for key in ("status", "status_detail")},
        **native.judged(program.get("values")),
        "struck_ms": None if struck_ns is None else struck_ns / 1e6,
        "rounds": len(values),
        "nodes": " ".join(sorted(nodes.of(result["processes"]))),
    }
    if values:
        row |= times("steady", [value.loops_ms for value in values.values()])
        row["cores"] = cores(program["loops"])
        row |= native.gate(values)
    return row


def grown(raw: Raw) -> Iterator[Row]:
    """Yield a row for every value of a growing size."""
    series_nodes: dict[tuple[str, str], set[str]] = {}
    for point, process in raw.growth.items():
        if point.value != growth.ALL:
            series_nodes.setdefault((point.workload, point.framework), set()).update(nodes.of([process]))
    for point, process in raw.growth.items():
        if point.value == growth.ALL:
            yield from _shapes(point, process)
            continue
        row = _of_point(point, schema.GROWTH, process) | {"value": float(point.value)}
        if process["status"] == Status.OK:
            row |= _compile_cost(process, series_nodes[point.workload, point.framework])
        yield row


def _of_point(point: growth.Point, mode: str, process: dict) -> Row:
    return head(point.workload, mode, point.framework, CPU) | {
        "size": point.size,
        "status": process["status"],
        "status_detail": process["status_detail"],
        "rounds": 1,
    }


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


def _shapes(point: growth.Point, process: dict) -> Iterator[Row]:
    """Yield a row for each call of a process of several shapes; one with its status if it has none."""
    row = _of_point(point, schema.SHAPES, process)
    if process["status"] != Status.OK:
        yield row
        return
    for one in process["events"]:
        if one["event"] == "shape":
            yield row | {
                "value": one["value"],
                "pass": one["turn"] + 1,
                "first_ms": one["ns"] / 1e6,
                "compiles_first": one["compiles"],
                "shape": verdicts.shape(one["turn"] == 0, one["compiles"]),
            }


def sharded(config: Config, raw: Raw) -> Iterator[Row]:
    """Yield a row for every program that was divided among this machine's devices."""
    common = cells.settings(config).parity_rel_l2
    for point, process in raw.sharded.items():
        row = head(point.workload, schema.SHARDED, point.frontend, CPU) | {
            **{"size": point.way, "value": point.devices, "rounds": 1},
            **{"status": process["status"], "status_detail": process["status_detail"]},
        }
        if process["status"] == Status.OK:
            compared = event(process, "compared")
            error, bound = compared["rel_l2"], parity_limit(point.workload, process["sizes"], common)
            row |= {"parity_rel_l2": error, "parity_limit": bound, "collectives": _collectives(compared)}
            if error > bound:
                detail = f"relative L2 error {error:.2e} against one device, over {bound:.0e}"
                row |= {"status": Status.INVALID, "status_detail": detail}
        yield row


def _collectives(compared: dict) -> str:
    emitted = compared["emitted"]
    counts = {"emitted": sum(emitted[kind] for kind in COLLECTIVES), "emitted_bytes": emitted["bytes"]}
    return json.dumps(counts | compared["partitioned"])
