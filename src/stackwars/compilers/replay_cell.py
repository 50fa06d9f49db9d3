"""The result of a replay: its processes put together, one entry a program; beside it, the profiles."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import jsonschema
import yaml

from stackwars import workloads
from stackwars.measure import documents, judge, nodes
from stackwars.measure.checks import problems
from stackwars.measure.peak import floor_ms
from stackwars.setup.environments import REPOSITORY

SCHEMA = REPOSITORY / "workflow" / "schemas" / "replay.schema.yaml"
VERSION = 3
_MOVED = (
    *("events", "programs", "settings", "sizes", "workload", "device", "preset", "compiler"),
    *("baseline", "module", "options"),
)
"""What a process has and the result holds in another place."""
_OF_CELLS = ("memory", "log_tail", "values")
"""What is kept of the processes of cells alone."""
STEADY = ("ns", "calls", "run_ns", "wait_ns", "steal_ns", "other_processes_share")
"""What is kept of the steady blocks of each process."""
PROFILE = ("calls", "wall_s", "operations", "spans")
"""What is kept of a program's profile."""


def combine(folders: list[Path], cells: dict[str, Path], check: dict, peak: dict | None = None) -> dict:
    """The replay's result from the folders of its processes, in the order of repetitions.

    cells: {framework: folder of its own cell}. check: of its programs, as `stackwars.compilers.check` writes it.
    peak: of the device, as `stackwars.measure.peak` writes it, or None. The replay is ok only if every process is;
    else it has the status of the first that is not, and no times; it is invalid if a process fails the checks that
    every cell's must pass. A program that any process refused has that status and no times, and one that is not the
    program of its cell is invalid. The others keep theirs.
    """
    every = [(folder, documents.read(folder / "process.json")) for folder in folders]
    folders = [folder for folder, _ in every]
    processes = [process for _, process in every]
    first = processes[0]
    bad = next((process for process in processes if process["status"] != "ok"), None)
    bad = bad or _broken(processes, peak) or _parted(processes, cells)
    replay = {
        "schema": VERSION,
        **{key: first[key] for key in ("workload", "device", "compiler", "preset", "baseline")},
        "module": first["module"],
        "options": first["options"],
        "sizes": first["sizes"],
        "settings": first["settings"],
        "status": bad["status"] if bad else "ok",
        "status_detail": bad["status_detail"] if bad else "",
        "peak_rss_bytes": max(process["peak_rss_bytes"] for process in processes),
        "programs": {
            name: _program(name, processes, bad, cells.get(name), check) for name in first["programs"]
        },
        "processes": [_record(process) for process in processes],
    }
    jsonschema.validate(replay, yaml.safe_load(SCHEMA.read_text()))
    return replay


def profiles(folders: list[Path], replay: dict) -> dict:
    """The profile of each program that is ok, from the first process: see `profile.profile`.

    replay: what `combine` made of the same folders. A program whose profile failed has none.
    """
    [first, *_] = [documents.read(folder / "process.json") for folder in folders]
    return {
        **{key: replay[key] for key in ("workload", "device", "compiler", "preset")},
        "repetition": first["repetition"],
        "programs": {
            event["program"]: {key: event[key] for key in PROFILE}
            for event in first["events"]
            if event["event"] == "profiled" and replay["programs"][event["program"]]["status"] == "ok"
        },
    }


def _broken(processes: list[dict], peak: dict | None) -> dict[str, str] | None:
    """Status and detail of a replay whose times mean nothing by the checks of a cell, or None."""
    floor = None
    if peak is not None:
        workload, sizes = workloads.load(processes[0]["workload"]), processes[0]["sizes"]
        floor = floor_ms(workload.flops(sizes), workload.minimum_bytes(sizes), peak)
    result = (problem for process in processes for problem in problems(process, floor))
    problem = next(result, None)
    return problem and {"status": "invalid", "status_detail": problem}


def _parted(processes: list[dict], cells: dict[str, Path]) -> dict[str, str] | None:
    """Status and detail of a replay of which another node measured a part, or its cells; None for one node."""
    result = [documents.read(cell / "cell.json").get("processes", []) for cell in cells.values()]
    every = [process for some in (processes, *result) for process in some if process["repeated"]]
    names = sorted({process["machine"].get("node", "unknown") for process in every})
    if len(names) < 2:
        return None
    detail = (
        f"measured, with its cells, on nodes {', '.join(names)}: times of two "
        "nodes are not compared. Delete it and the workload's cells, and they are measured together again"
    )
    return {"status": "invalid", "status_detail": detail}


def _program(name: str, processes: list[dict], bad: dict | None, cell: Path | None, check: dict) -> dict:
    outcome = check["programs"][name]
    events = [[event for event in process["events"] if event.get("program") == name] for process in processes]
    refused = _named(events, "refused")
    status, detail = (bad["status"], bad["status_detail"]) if bad else ("ok", "")
    if refused:
        status, detail = refused[0]["status"], refused[0]["detail"]
    digests = list(dict.fromkeys(_values(events, "read", "sha256")))
    problem = _another_program(digests, cell)
    if status == "ok" and problem:
        status, detail = "invalid", problem
    return {
        "status": status,
        "status_detail": detail,
        "program_sha256": digests[0] if digests else None,
        "compile_s": _values(events, "compiled", "compile_s"),
        **{
            key: next(iter(_values(events, "compiled", key)), missing)
            for key, missing in (("optimised", None), ("optimised_problem", "not compiled"))
        },
        "values": judge.worst([*_values(events, "values", "verdict"), _checked_values(outcome, check)]),
        "struck_ns": outcome["repeat_ns"] if status == "wrong" else None,
        **{
            key: _values(events, event, "ns") if status == "ok" else []
            for key, event in (("first_ns", "first"), ("second_ns", "second"))
        },
        "steady": [{key: event[key] for key in STEADY} for event in _named(events, "steady")]
        if status == "ok"
        else [],
    }


def _checked_values(outcome: dict, check: dict) -> dict | None:
    """Return the verdict of a check, as a process has it; None if the program did not come that far."""
    if outcome["total"] is None:
        return None
    keys = ("wrong", "total", "l2", "largest", "where", "limit", "flaky")
    return {"judge": check["judge"], **{key: outcome[key] for key in keys}}


def _another_program(digests: list[str], cell: Path | None) -> str | None:
    """Return why this is not the program that its cell runs, or None."""
    result = documents.read(cell / "cell.json") if cell else {"status": "not run"}
    if result["status"] not in ("ok", "wrong"):
        return None
    of_cell = result["ir"]["sha256"]
    for digest in digests:
        if digest != of_cell:
            return f"the program's digest is {digest[:12]}, its cell's is {of_cell[:12]}"
    return None


def _named(events: list[list[dict]], name: str) -> list[dict]:
    return [event for rows in events for event in rows if event["event"] == name]


def _values(events: list[list[dict]], name: str, key: str) -> list:
    return [event[key] for event in _named(events, name) if key in event]


def _record(process: dict) -> dict:
    named = {event["event"]: event for event in process["events"]}
    build = named.get("build", {})
    return {
        **{key: value for key, value in process.items() if key not in (*_MOVED, *_OF_CELLS)},
        "versions": build.get("versions", {}),
        "device_kind": build.get("device_kind"),
        "load": [named[name]["load"] for name in ("run", "timed") if name in named],
    }


def main() -> None:
    """`python -m stackwars.compilers.replay_cell PROCESS ... --output FILE`: write replay.json.

    Beside it, in profile.json, stands where the time of each program's calls goes.

    `--cell FRAMEWORK=FOLDER`, once a framework: its own cell, with cell.json and output.npy.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("processes", nargs="+", type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--peak", required=True, type=Path, help="file of the device's")
    parser.add_argument("--check", required=True, type=Path, help="check.json of its programs")
    parser.add_argument("--cell", action="append", default=[], metavar="FRAMEWORK=FOLDER")
    arguments = parser.parse_args()
    cells = (pair.split("=", 1) for pair in arguments.cell)
    folders = {name: Path(folder) for name, folder in cells}
    first = documents.read(arguments.processes[0] / "process.json")
    peak = nodes.peak_of(nodes.peaks(arguments.peak.parent), first["machine"])
    replay = combine(arguments.processes, folders, documents.read(arguments.check), peak)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(replay, indent=1))
    result = profiles(arguments.processes, replay)
    arguments.output.with_name("profile.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
