"""Gather raw results for the report: every call and block, the memory and log of each process, profiled calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from stackwars.core import documents, hlo
from stackwars.core.documents import Row
from stackwars.core.launch import thinned
from stackwars.core.numbers import shortened
from stackwars.core.outcome import Status
from stackwars.measure.process_value import baseline_wait_share, uncontended_blocks
from stackwars.publish.report.tables import origin_of, records
from stackwars.study.results import schema
from stackwars.study.results.dataset import Sources, in_order, newest_runs, of_study

PROCESS = ("repetition", "status", "started_utc", "wall_s", "peak_rss_bytes", "environment")
POINTS = 60
"""Samples of a process's memory; fewer than a run keeps, because one page may hold thousands of cells."""
_BEGINS = {
    **{"import": "import", "build": "build", "run": "first call", "first": "second call"},
    **{"second": "steady", "losses": "steady"},
}
"""The phase that begins at an event."""
COLOURS = {
    hlo.PRODUCTS: "#14213d",
    hlo.TRANSPOSES: "#c4571b",
    hlo.REDUCTIONS: "#388e77",
    hlo.ELEMENTWISE: "#a07800",
    hlo.LIBRARY: "#777777",
    hlo.DISPATCH: "#b04a8f",
}
"""The mark of each class of operations: at least 3 to 1 on white."""
PROGRAM = ["study", "workload", "title", "compiler", "device", "framework", "run"]
"""The columns that identify a profiled call."""


def cells(measured: Path) -> dict[str, Row]:
    """Return {device/framework/workload: sizes, versions, processes, calls} of every cell.json of a folder."""
    return {
        path.parent.relative_to(measured).as_posix(): _cell(documents.read(path))
        for path in sorted(measured.glob("*/*/*/cell.json"))
    }


def replays(measured: Path) -> dict[str, Row]:
    """Return {device/compiler/framework/workload: calls, compile times, sizes, versions, environment} of every
    program that a replay.json of a folder timed."""
    result = {}
    for path in sorted((measured / "replay").glob("*/*/*/replay.json")):
        replay = documents.read(path)
        first = replay["processes"][0]
        rounds = [process["repetition"] for process in replay["processes"]]
        for framework, program in replay["programs"].items():
            if program["status"] == Status.OK:
                names = (replay["device"], replay["compiler"], framework, replay["workload"])
                columns = (rounds, program["first_ns"], program["second_ns"], program["steady"])
                timed = zip_longest(*columns)  # the first rounds have a series, and later ones none
                result["/".join(names)] = {
                    "calls": _calls(timed),
                    "compile_s": [seconds and shortened(seconds) for seconds in program["compile_s"]],
                    "sizes": replay["sizes"],
                    "versions": first.get("versions", {}),
                    "environment": first.get("environment"),
                }
    return result


def _cell(cell: dict) -> Row:
    processes = [process for process in cell["processes"] if process.get("repeated", True)]
    named = [
        {e["event"]: e for e in p.get("events", [])} | {"round": p["repetition"]} for p in cell["processes"]
    ]
    called = [events for events in named if {"first", "second"} <= events.keys()]
    timed = ((one["round"], one["first"]["ns"], one["second"]["ns"], one.get("steady")) for one in called)
    return {
        "sizes": cell["sizes"],
        "versions": cell["versions"],
        "processes": [process_row(one) for one in processes if one.get("events") or one.get("log_tail")],
        "calls": _calls(timed),
    }


def _calls(timed: Iterable[tuple[int, int, int, dict | None]]) -> list[Row]:
    """Return the calls of each process, from (round, ns of the first call, of the second, steady blocks or None).

    first, second and each of blocks: ms a call; calls: how many a block has; uncontended: for each block 1 if it is
    uncontended, else 0. A process without a series has no blocks.
    """
    calls = list(timed)
    baseline = baseline_wait_share([steady for *_, steady in calls if steady])
    return [
        {
            "round": number,
            "first": shortened(first / 1e6),
            "second": shortened(second / 1e6),
            **(_blocks(steady, baseline) if steady else {"calls": 0, "blocks": [], "uncontended": ""}),
        }
        for number, first, second, steady in calls
    ]


def _blocks(steady: dict, baseline: float) -> Row:
    return {
        "calls": steady["calls"],
        "blocks": [shortened(ns / steady["calls"] / 1e6) for ns in steady["ns"]],
        "uncontended": "".join("01"[one] for one in uncontended_blocks(steady, baseline)),
    }


def process_row(process: dict) -> Row:
    """Return what is shown of one process. memory: [seconds since its start, MiB]; None if none was recorded."""
    recorded, memory = process.get("memory"), None
    if recorded is not None:
        samples = thinned(list(zip(recorded["seconds"], recorded["bytes"], strict=True)), POINTS)
        memory = [[seconds, round(resident / 2**20)] for seconds, resident in samples]
    row = {key: process.get(key) for key in PROCESS}
    return row | {"memory": memory, "phases": _phases(process), "log": process.get("log_tail")}


def _phases(process: dict) -> list[list]:
    """Return [name, begin, end] in seconds since the start; the process may have ended in the last one."""
    start, events = process.get("started_s"), process.get("events", [])
    if start is None or not events:
        return []
    ends = [event["at_s"] - start for event in events[1:]] + [process["wall_s"]]
    following = [event["event"] for event in events[1:]] + [""]
    return [
        # The phase after the second call of a training step is known by the event that ends it.
        ["losses" if ended_by == "losses" else name, round(event["at_s"] - start, 2), round(end, 2)]
        for event, end, ended_by in zip(events, ends, following, strict=True)
        if (name := _BEGINS.get(event["event"]))
    ]


def profiles(sources: Sources, raw_run: str) -> Row:
    """Return {"classes": title and colour of each, "calls": every profiled call, by study}.

    raw_run: the run whose raw results are next to the tables of `sources.run`.
    """
    titles = {name: {"title": title, "colour": COLOURS[name]} for name, title in hlo.CLASSES.items()}
    calls = list(_profiled_calls(sources))
    for call in calls:
        call["profile"] = _operations(sources.run.measured, call) if call["run"] == raw_run else None
    return {"classes": titles, "calls": calls}


def _profiled_calls(sources: Sources) -> Iterator[Row]:
    for name in sources.run.config.studies:
        data = sources.dataset_for(name)
        study = data.study(name)
        if not study.compilers:
            continue
        table = of_study(study, data.table("profile"))
        shown = newest_runs(data, data.table("cells"), name, schema.REPLAY)
        table = table[table["run"] == table["workload"].map(shown)].assign(study=name)
        table = in_order(study.workloads, table)
        for key, rows in table.groupby(PROGRAM, sort=False):
            parts = {
                f"{row['class']}_{name}": row[name]
                for row in records(rows, ("class", "ms", "operations"))
                for name in ("ms", "operations")
            }
            call = dict(zip(PROGRAM, key, strict=True)) | origin_of(sources, data)
            yield call | records(rows, ("profiled_ms", "call_ms", "profile_consistent"))[0] | parts


def _operations(measured: Path, program: dict[str, str]) -> dict[str, list] | None:
    """Return the operations of a profiled call: name, class and ms of each, and for the longest the opcode with its
    type and the line of the program; and when each ran: its place among them, start and duration in ms.

    None if the folder has no profile of the program; no spans if it has sums alone.
    """
    folder = measured / "replay" / program["device"] / program["compiler"] / program["workload"]
    path = folder / "profile.json"
    profile = documents.read(path)["programs"].get(program["framework"]) if path.exists() else None
    if profile is None:
        return None
    places = {name: place for place, name in enumerate(profile["operations"])}
    return {
        "operations": [
            [
                name,
                one["class"],
                round(1e3 * one["seconds"], 6),
                *(one[key] for key in ("text", "line") if key in one),
            ]
            for name, one in profile["operations"].items()
        ],
        "spans": [
            [places[name], round(1e3 * start, 6), round(1e3 * (end - start), 6)]
            for name, start, end in profile.get("spans", [])
        ],
    }
