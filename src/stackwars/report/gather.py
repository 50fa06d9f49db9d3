"""What the report shows, as one document of plain values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from stackwars import frameworks, workloads
from stackwars.audits import audit_entries, fault_entries
from stackwars.claims import pages
from stackwars.compilers import FACTS
from stackwars.measure import documents, machine
from stackwars.report import calls, replays, rounds
from stackwars.report.processes import processes
from stackwars.report.profiles import profiles
from stackwars.report.votes import with_votes
from stackwars.results import processes as process_tables
from stackwars.results.folder import Folder

CELL = (
    *("workload", "title", "kind", "framework", "device", "status", "status_detail", "rounds", "stop_reason"),
    *(f"{stage}_{end}" for stage in ("first", "second", "steady") for end in ("ms", "low_ms", "high_ms")),
    *("steady_class", "gated", "peak_rss_bytes", "parity_rel_l2", "first_trace_ms", "first_compile_ms"),
    *("first_execute_ms", "compiles_first", "compiles_second"),
)  # fmt: skip
STAGES = ("first", "second", "steady")
RATIO = (
    *("workload", "device", "framework", "baseline", "rounds", "steady_rounds", "steady_gated", "contended"),
    *(
        f"{stage}_{name}"
        for stage in STAGES
        for name in ("ratio", "ratio_low", "ratio_high", "p_holm", "detectable", "runs", "verdict")
    ),
)  # fmt: skip
SPLIT = (
    *("workload", "title", "device", "framework", "baseline", "compiler", "rounds"),
    *("ir_ratio", "ir_ratio_low", "ir_ratio_high", "ir_runs", "ir_verdict"),
    *("runtime_ratio", "runtime_ratio_low", "runtime_ratio_high", "source_verdict"),
)
MATRIX = (
    *("workload", "title", "framework", "compiler", "device", "status", "status_detail", "rounds"),
    *("replay_ms", "replay_low_ms", "replay_high_ms", "over_best", "compile_s", "parity_rel_l2"),
    *("previous", "previous_ratio", "previous_low", "previous_high", "previous_verdict"),
    *(*FACTS, "run"),
)
CLAIM = ("id", "origin", "sentence", "verdict", "evidence")
FAULT = ("id", "title", "outcome", "lost", "wrong", "told", "why")


def gather(folder: Folder) -> dict[str, Any]:
    """The document: meta, frameworks, cells and their details, ratios with their rounds, the split by compiler,
    matrix and replays, programs, graphs, profiles, claims, audits and faults. An accepted run, which has its
    tables alone, has none of what is not made from these.
    """
    document = measured(folder)
    return {**document, "claims": with_votes(document, folder)}


def measured(folder: Folder) -> dict[str, Any]:
    """The document, with claims that have no votes yet."""
    frame, matrix = pd.read_csv(folder["frame"]), read(folder["matrix"], MATRIX)
    context = documents.read(folder["context"])
    timeline = profiles(folder)
    profiled = [call["framework"] for call in timeline["calls"]]
    programs = listed(folder["report_programs"], "programs")
    emitted = [name for one in programs for name in (*one["frameworks"], *one["left_out"])]
    split = read(folder["split"], SPLIT)
    names = [
        frame["framework"],
        matrix["framework"],
        split["framework"],
        split["baseline"],
        profiled,
        emitted,
    ]
    cells = {
        path.parent.relative_to(folder.measured).as_posix(): documents.read(path)
        for path in sorted(folder.measured.glob("*/*/*/cell.json"))
    }
    replayed = replays.read(folder)
    return {
        "name": titled(folder, context),
        "meta": {key: context.get(key) for key in ("machine", "date_utc", "preset", "origin", "git_revision")},
        "reproduction": listed(folder["reproduction"], "summary") or "",
        "answers": list(pages.RESULTS),
        "frameworks": {name: _framework(name) for column in names for name in column},
        "cells": rows(frame, CELL),
        "details": {key: of_cell(cell) for key, cell in cells.items()},
        "ratios": [
            {**row, "title": workloads.load(row["workload"]).TITLE}
            for row in rows(pd.read_csv(folder["ratios"]), RATIO)
        ],
        "split": rows(split, SPLIT),
        "rounds": every_round(folder, cells, replayed, rows(split, SPLIT)),
        "native": context.get("native_compiler"),
        "matrix": rows(matrix, MATRIX),
        "facts": {name: text.partition(";")[0] for name, text in FACTS.items()},
        "replays": replays.shown(replayed),
        "programs": programs,
        "graphs": listed(folder["report_graphs"], "graphs"),
        "timeline": timeline,
        "claims": rows(pd.read_csv(folder["claims"]), CLAIM),
        "audits": [
            {key: one.get(key) for key in ("id", "title", "verdict", "aim", "detail")}
            for one in audit_entries.read(folder["audits"])
        ],
        "faults": faults(folder),
    }  # fmt: skip


def faults(folder: Folder) -> dict[str, Any]:
    """{"where": revision and machine, "tried": what came of each injected fault, none if none was}."""
    found = fault_entries.read(folder["faults"])
    return {
        "where": f"revision {found['revision']} on {machine.described(found['machine'])}",
        "tried": [{key: one[key] for key in FAULT} for one in found["faults"]],
    }


def every_round(
    folder: Folder, cells: dict, found: replays.Replays, split: list[dict]
) -> dict[str, dict]:
    """{device/framework/workload: ratio of each round by stage}; of the split, with the compiler at the end of
    the key, those of the IR effect. Of what was measured here alone: an accepted run has kept no processes.
    """
    values = process_tables.read(folder["processes"]) if folder["processes"].exists() else {}
    of_ratios = {
        cell_key(row): rounds.of_ratio(row, cells, values)
        for row in rows(pd.read_csv(folder["ratios"]), RATIO)
    }
    effects = {f"{cell_key(row)}/{row['compiler']}": rounds.of_effect(row, found) for row in split}
    kept = {key: {"ir": one} for key, one in effects.items() if one}
    return kept | {key: one for key, one in of_ratios.items() if one}


def cell_key(row: dict[str, Any]) -> str:
    """What the details of a cell are found by."""
    return f"{row['device']}/{row['framework']}/{row['workload']}"


def titled(folder: Folder, context: dict) -> str:
    """What a reader calls a run: where its tables are, and when it ended."""
    return f"{folder.results.name} of {context['date_utc'][:16].replace('T', ' ')}"


def read(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """A table; one without rows where the run has none of that name."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(columns))


def listed(path: Path, key: str) -> Any:
    """What a file has under a key; nothing where there is no such file."""
    return documents.read(path)[key] if path.exists() else []


def rows(table: pd.DataFrame, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """These columns of a table, those that it has; what is missing is None."""
    kept = table[[name for name in columns if name in table]]
    return json.loads(kept.to_json(orient="records"))


def _framework(name: str) -> dict[str, str]:
    base = name.partition("+")[0]
    return {"title": frameworks.title(name), "colour": frameworks.load(base).COLOUR}


def of_cell(cell: dict) -> dict[str, Any]:
    """What a cell.json has beside the frame: sizes, versions, its processes, and every call of them."""
    return {
        "sizes": cell["sizes"],
        "versions": cell["versions"],
        "processes": processes(cell),
        "calls": calls.of_cell([process for process in cell["processes"] if process.get("events")]),
    }
