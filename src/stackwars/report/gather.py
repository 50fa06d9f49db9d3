"""What the report shows, as one document of plain values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from stackwars import frameworks, workloads
from stackwars.audits import audit_entries
from stackwars.measure import documents
from stackwars.measure.process_value import baseline_wait_share, uncontended_blocks
from stackwars.report.processes import processes
from stackwars.report.profiles import profiles
from stackwars.report.votes import with_votes
from stackwars.results.folder import Folder

CELL = (
    *("workload", "title", "kind", "framework", "device", "status", "status_detail", "rounds", "stop_reason"),
    *(f"{stage}_{end}" for stage in ("first", "second", "steady") for end in ("ms", "low_ms", "high_ms")),
    *("steady_class", "gated", "peak_rss_bytes", "parity_rel_l2", "first_trace_ms", "first_compile_ms"),
    *("first_execute_ms", "compiles_first", "compiles_second"),
)  # fmt: skip
STAGES = ("first", "second", "steady")
RATIO = (
    *("workload", "device", "framework", "baseline", "rounds"),
    *(
        f"{stage}_{name}"
        for stage in STAGES
        for name in ("ratio", "ratio_low", "ratio_high", "verdict")
    ),
)
MATRIX = (
    *("workload", "title", "framework", "compiler", "status", "status_detail", "replay_ms"),
    *("over_best", "compile_s", "run"),
)
CLAIM = ("id", "origin", "sentence", "verdict", "evidence")


def gather(folder: Folder) -> dict[str, Any]:
    """The document: meta, frameworks, cells and their details, ratios, matrix, programs, graphs, profiles,
    claims and audits. An accepted run, which has its tables alone, has none of what is not made from these.
    """
    document = measured(folder)
    return {**document, "claims": with_votes(document, folder)}


def measured(folder: Folder) -> dict[str, Any]:
    """The document, with claims that have no votes yet."""
    frame, matrix = pd.read_csv(folder["frame"]), read(folder["matrix"], MATRIX)
    context = documents.read(folder["context"])
    timeline = profiles(folder)
    profiled = [call["framework"] for call in timeline["calls"]]
    names = dict.fromkeys([*frame["framework"], *matrix["framework"], *profiled])
    return {
        "name": titled(folder, context),
        "meta": {key: context.get(key) for key in ("machine", "date_utc", "preset", "origin", "git_revision")},
        "frameworks": {name: _framework(name) for name in names},
        "cells": rows(frame, CELL),
        "details": {
            path.parent.relative_to(folder.measured).as_posix(): of_cell(path)
            for path in sorted(folder.measured.glob("*/*/*/cell.json"))
        },
        "ratios": [
            {**row, "title": workloads.load(row["workload"]).TITLE}
            for row in rows(pd.read_csv(folder["ratios"]), RATIO)
        ],
        "matrix": rows(matrix, MATRIX),
        "programs": listed(folder["report_programs"], "programs"),
        "graphs": listed(folder["report_graphs"], "graphs"),
        "timeline": timeline,
        "claims": rows(pd.read_csv(folder["claims"]), CLAIM),
        "audits": [
            {key: one.get(key) for key in ("id", "title", "verdict", "aim", "detail")}
            for one in audit_entries.read(folder["audits"])
        ],
    }  # fmt: skip


def titled(folder: Folder, context: dict) -> str:
    """What a reader calls a run: where its tables are, and when it ended."""
    return f"{folder.results.name} of {context['date_utc'][:16].replace('T', ' ')}"


def read(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """A table; one without rows where the run has none of that name."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(columns))


def listed(path: Path, key: str) -> list[Any]:
    """What a file has under a key; nothing where there is no such file."""
    return documents.read(path)[key] if path.exists() else []


def rows(table: pd.DataFrame, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """These columns of a table, those that it has; what is missing is None."""
    kept = table[[name for name in columns if name in table]]
    return json.loads(kept.to_json(orient="records"))


def _framework(name: str) -> dict[str, str]:
    base = name.partition("+")[0]
    return {"title": frameworks.title(name), "colour": frameworks.load(base).COLOUR}


def of_cell(path: Path) -> dict[str, Any]:
    """What a cell.json has beside the frame: sizes, versions, its processes, and every call of them.

    Of a call or a block it has ms a call; `kept` marks the uncontended blocks.
    """
    cell = documents.read(path)
    return {
        "sizes": cell["sizes"],
        "versions": cell["versions"],
        "processes": processes(cell),
        "calls": calls([process for process in cell["processes"] if process.get("events")]),
    }


def calls(processes: list[dict]) -> list[dict[str, Any]]:
    """Every call or block of each process that came to its steady state."""
    named = [{e["event"]: e for e in process["events"]} for process in processes]
    complete = [events for events in named if {"first", "second", "steady"} <= events.keys()]
    if not complete:
        return []
    baseline = baseline_wait_share([events["steady"] for events in complete])
    found = []
    for events in complete:
        steady = events["steady"]
        blocks = [digits(ns / steady["calls"] / 1e6) for ns in steady["ns"]]
        found.append(
            {
                "first": digits(events["first"]["ns"] / 1e6),
                "second": digits(events["second"]["ns"] / 1e6),
                "calls": steady["calls"],
                "blocks": blocks,
                "kept": "".join("01"[one] for one in uncontended_blocks(steady, baseline)),
            }
        )
    return found


def digits(value: float, count: int = 4) -> float:
    """The value to so many significant digits: the file holds tens of thousands of them."""
    if not value or not math.isfinite(value):
        return 0.0
    return round(value, count - 1 - math.floor(math.log10(abs(value))))
