"""The replays that the report shows: what each compiler took for each program, and every raw block of it."""

from __future__ import annotations

from typing import Any

from stackwars.measure import documents
from stackwars.report import calls
from stackwars.results.folder import Folder

Replays = dict[str, dict]
"""{device/compiler/workload: replay.json}."""


def read(folder: Folder) -> Replays:
    """Every replay of the folder. An accepted run has kept none: the matrix alone has its numbers."""
    measured = folder.measured / "replay"
    return {
        path.parent.relative_to(measured).as_posix(): documents.read(path)
        for path in sorted(measured.glob("*/*/*/replay.json"))
    }


def shown(found: Replays) -> dict[str, dict[str, Any]]:
    """{device/compiler/framework/workload: what one program of a replay has}, of those that were timed.

    calls: see `stackwars.report.calls`. compile_s: seconds, by round. sizes, versions, environment: of the
    replay.
    """
    rows = {}
    for replay in found.values():
        processes = replay["processes"]
        rounds = [process["repetition"] for process in processes]
        for framework, program in replay["programs"].items():
            if program["status"] == "ok":
                names = (replay["device"], replay["compiler"], framework, replay["workload"])
                rows["/".join(names)] = {
                    "calls": calls.of_replay(program, rounds),
                    "compile_s": [seconds and calls.digits(seconds) for seconds in program["compile_s"]],
                    "sizes": replay["sizes"],
                    "versions": processes[0].get("versions", {}),
                    "environment": processes[0].get("environment"),
                }  # fmt: skip
    return rows
