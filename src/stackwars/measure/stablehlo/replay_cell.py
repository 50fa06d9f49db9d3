"""A replay: rounds of a fresh process in which the programs of a workload take turns in one compiler.

`python -m stackwars.measure.stablehlo.replay_cell --job JOB --rounds COUNT --pins PINS --peak PEAK --output FOLDER
[--taken FOLDER]` writes replay.json, and profile.json with the operations of each program's calls. In the native
compiler, the process takes part in the rounds of a cell (`measure.cell`), whose records are read from the folder
`taken`: the cell's processes are the controls. Any other replay measures its rounds itself.
"""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from stackwars.core import documents, judge
from stackwars.measure import nodes, progress, workloads
from stackwars.measure.cell import REPLAY, REPLAYED, REPLAYING, expected_bytes, replay_files, validate
from stackwars.measure.checks import problems
from stackwars.measure.conduct import Participant, run_round
from stackwars.measure.peak import floor_ms
from stackwars.measure.rounds import Rounds
from stackwars.measure.stablehlo.check import VERDICT
from stackwars.measure.stablehlo.replay import ReplayJob
from stackwars.measure.supervisor import exclusive, python_of

VERSION = 4
_MOVED = (
    *("events", "programs", "settings", "sizes", "workload", "device", "preset", "compiler"),
    *("baseline", "module", "options"),
)
"""Keys of a process that the result has in another place."""
_OF_CELLS = ("memory", "log_tail", "values")
"""Keys of a process that only cells record."""
_TIMED = ("first", "second", "loop")
"""Recorded events of a native process."""
_NATIVE = (
    *("status", "status_detail", "repetition", "basis", "started_s", "wall_s", "peak_rss_bytes", "environment"),
    "machine",
)
"""Recorded keys of a native process."""
STEADY = (
    *("ns", "calls", "run_ns", "wait_ns", "steal_ns", "minor_faults", "major_faults"),
    *("seconds", "other_processes_share"),
)
"""Recorded numbers of an undisturbed series, which the first rounds have."""
LOOP = (
    *("ns", "calls", "dropped", "run_ns", "wait_ns", "steal_ns", "minor_faults", "major_faults"),
    "began_s",
)
"""Recorded numbers of each loop, if it has them."""
PROFILE = ("calls", "wall_s", "operations", "spans")
"""Recorded keys of a program's profile."""

RoundRecords = list[dict[str, dict]]
"""The records of each round, by participant: REPLAY and frameworks."""


@dataclass(frozen=True)
class ReplayCellJob:
    """A replay of all rounds.

    cells: {framework: folder of its cell}, whose program must be the replayed one.
    """

    replay: ReplayJob
    cells: dict[str, str]


def measure(
    job: ReplayJob, count: int, pins: Path, output: Path
) -> tuple[list[dict[str, dict]], Rounds | None]:
    """Measure the rounds of a replay; return the records of each by participant, and the folders that hold them.

    A round that had finished is not measured again. One whose replay is not ok is the last.
    """
    progress.announce(job)
    python, refused = python_of(job, pins)
    if refused:
        return [{REPLAY: refused}], None
    rounds = Rounds(output, job, [pins, *replay_files(job)])
    result: list[dict[str, dict]] = []
    with exclusive(job.settings):
        nodes.ensure_peak(job.device, output)
        for number in rounds.numbers(count):
            one = partial(_round, replace(job, repetition=number), python)
            result.append(rounds.run(number, one))
            progress.report(result[-1][REPLAY])
            if result[-1][REPLAY]["status"] != "ok":
                break
    return result, rounds


def _round(job: ReplayJob, python: Path, folder: Path, rng: random.Random) -> dict[str, dict]:
    """Run one round; return the record of the replay."""
    one = Participant(REPLAY, job, python, folder / REPLAY, REPLAYING, tuple(job.programs))
    begun = time.monotonic()
    records = run_round([one], job.settings, rng, expected_bytes(job))
    records[REPLAY]["round_s"] = round(time.monotonic() - begun, 3)
    shutil.rmtree(one.folder / "cache", ignore_errors=True)
    return records


def write(
    job: ReplayCellJob, records: list[dict[str, dict]], seed: int | None, peak: dict | None, output: Path
) -> None:
    """Write the result of these rounds."""
    cells = {name: Path(folder) for name, folder in job.cells.items()}
    result = combine(records, cells, documents.read(job.replay.check), peak, seed)
    documents.write(output / "profile.json", profiles(records, result))
    documents.write(output / "replay.json", result)


def combine(
    rounds: RoundRecords, cells: dict[str, Path], check: dict, peak: dict | None = None, seed: int | None = None
) -> dict:
    """Return the replay's result from its rounds.

    cells: {framework: folder of its cell}. check: document of `stackwars.measure.stablehlo.check`. peak: document of
    `stackwars.measure.peak`, or None. seed: of the run's random numbers; None if nothing was measured.

    The replay is ok if every process is; else it has the first other status, and no times. It is invalid if a process
    fails the checks of cells. A program that any process refused has that status and no times, and one that differs
    from its cell's program is invalid; the others keep their times. A native process that fails costs its control
    alone.
    """
    processes = [records[REPLAY] for records in rounds]
    first = processes[0]
    bad = next((process for process in processes if process["status"] != "ok"), None)
    bad = bad or _broken(processes, peak)
    replay = {
        "schema": VERSION,
        **{key: first[key] for key in ("workload", "device", "compiler", "preset", "baseline")},
        **{key: first[key] for key in ("module", "options", "sizes", "settings")},
        "run_seed": seed,
        "status": bad["status"] if bad else "ok",
        "status_detail": bad["status_detail"] if bad else "",
        "peak_rss_bytes": max(process["peak_rss_bytes"] for process in processes),
        "programs": {
            name: _program(name, processes, bad, cells.get(name), check) for name in first["programs"]
        },
        "natives": {
            name: [_native(records[name]) for records in rounds] for name in rounds[0] if name != REPLAY
        },
        "processes": [_record(process) for process in processes],
    }
    validate(replay, "replay")
    return replay


def profiles(rounds: RoundRecords, replay: dict) -> dict:
    """Return the profile of each ok program, from the first round: see `profile.profile`.

    replay: the result of `combine`. A program whose profile failed has none.
    """
    first = rounds[0][REPLAY]
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
    """Return status and detail of a replay that fails the checks of a cell, or None."""
    floor = None
    if peak is not None:
        workload, sizes = workloads.load(processes[0]["workload"]), processes[0]["sizes"]
        floor = floor_ms(workload.flops(sizes), workload.minimum_bytes(sizes), peak)
    result = (problem for process in processes for problem in problems(process, floor))
    problem = next(result, None)
    return problem and {"status": "invalid", "status_detail": problem}


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
        "optimised": next(iter(_values(events, "compiled", "optimised")), None),
        "values": judge.worst([*_values(events, "values", "verdict"), _checked_values(outcome, check)]),
        "struck_ns": outcome["repeat_ns"] if status == "wrong" else None,
        **_times(events if status == "ok" else []),
    }


def _times(events: list[list[dict]]) -> dict[str, list]:
    """Return the times of a program, an entry for each round. events: the program's, by round."""
    return {
        "first_ns": _values(events, "first", "ns"),
        "second_ns": _values(events, "second", "ns"),
        "steady": [{key: event[key] for key in STEADY} for event in _named(events, "steady")],
        "loops": [
            [{key: event[key] for key in LOOP if key in event} for event in _named([one], "loop")]
            for one in events
        ],
    }


def _native(process: dict) -> dict:
    """Return the record of a native process; only an ok one has times."""
    events = process["events"] if process["status"] == "ok" else []
    return {
        **{key: process[key] for key in _NATIVE if key in process},
        "events": [event for event in events if event["event"] in _TIMED],
    }


def _checked_values(outcome: dict, check: dict) -> dict | None:
    """Return the verdict of a check in the form of a process; None if the program returned no values."""
    if outcome["total"] is None:
        return None
    return {"judge": check["judge"], **{key: outcome[key] for key in VERDICT}}


def _another_program(digests: list[str], cell: Path | None) -> str | None:
    """Return a sentence if this is not its cell's program, else None."""
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
    build = documents.event(process, "build")
    return {
        **{key: value for key, value in process.items() if key not in (*_MOVED, *_OF_CELLS)},
        "versions": build.get("versions", {}),
        "device_kind": build.get("device_kind"),
    }


def main() -> None:
    count = {"type": int, "required": True}
    a = documents.parse_arguments(__doc__, "job", "pins", "peak", "output", rounds=count, taken={"type": Path})
    job = documents.read_job(ReplayCellJob, a.job)
    a.output.mkdir(parents=True, exist_ok=True)
    if a.taken and (a.taken / REPLAYED).exists():
        taken = documents.read(a.taken / REPLAYED)
        records, seed = taken["rounds"], taken["seed"]
        progress.report(records[-1][REPLAY])
    else:
        records, rounds = measure(job.replay, a.rounds, a.pins, a.output)
        seed = rounds and rounds.seed
    peak = nodes.peak_of(nodes.peaks(a.peak.parent), records[0][REPLAY]["machine"])
    write(job, records, seed, peak, a.output)


if __name__ == "__main__":
    main()
