"""What the report shows of each process of a cell: its end, its memory over time, the last lines of its log."""

from __future__ import annotations

from typing import Any

from stackwars.measure.kept import thinned

PROCESS = ("repetition", "status", "started_utc", "wall_s", "peak_rss_bytes", "environment")
POINTS = 60
"""Of a process's memory: fewer than are kept, for there may be thousands of cells in one file."""
_BEGINS = {
    **{"import": "import", "build": "build", "run": "first call", "first": "second call"},
    **{"second": "steady", "losses": "steady"},
}
"""The phase that begins at an event."""


def processes(cell: dict) -> list[dict[str, Any]]:
    """A row for each process that ran, in the order of rounds."""
    return [
        {
            **{key: process.get(key) for key in PROCESS},
            **{"memory": memory(process), "phases": phases(process)},
            "log": process.get("log_tail"),
        }
        for process in cell["processes"]
        if process.get("repeated", True) and (process.get("events") or process.get("log_tail"))
    ]


def memory(process: dict) -> list[list[float]] | None:
    """[seconds since the start, MiB] in the order of time, at most POINTS; None of a run that kept none."""
    kept = process.get("memory")
    if kept is None:
        return None
    samples = thinned(list(zip(kept["seconds"], kept["bytes"], strict=True)), POINTS)
    return [[seconds, round(resident / 2**20)] for seconds, resident in samples]


def phases(process: dict) -> list[list]:
    """[name, begin, end] in seconds since the start; the last may be the one in which the process ended.

    Empty of a process that wrote no events.
    """
    start = process.get("started_s")
    events = process.get("events", [])
    if start is None or not events:
        return []
    ends = [event["at_s"] - start for event in events[1:]] + [process["wall_s"]]
    following = [event["event"] for event in events[1:]] + [""]
    return [
        # What comes after the second call of a training step is known by what ended it.
        ["losses" if ended_by == "losses" else name, round(event["at_s"] - start, 2), round(end, 2)]
        for event, end, ended_by in zip(events, ends, following, strict=True)
        if (name := _BEGINS.get(event["event"]))
    ]
