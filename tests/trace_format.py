"""Whether a document is in the Trace Event Format as Perfetto reads it."""

import json
from collections import defaultdict
from typing import Any

_KEYS = {"X": {"name", "cat", "ph", "ts", "dur", "pid", "tid"}, "M": {"name", "ph", "pid", "args"}}
"""What an event of a phase must have: complete events and metadata, the two phases that are in use."""
_ARGUMENT = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index"}


def problems(document: dict[str, Any]) -> list[str]:
    """What is wrong with it; [] where nothing is.

    Times are microseconds, not negative, and cut off to whole nanoseconds. Numbers of processes and threads
    are whole and over 0, which Perfetto keeps for the idle process; a thread belongs to one process. Every
    process and thread with events is named, before its events. On one thread a slice ends before the next
    begins, or holds it whole; two never begin at once, for Perfetto would have to guess which holds which.
    """
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    found: list[str] = []
    if document.get("displayTimeUnit", "ms") not in ("ms", "ns"):
        found.append(f"displayTimeUnit: {document['displayTimeUnit']}")
    slices: dict[int, list[tuple[int, int]]] = defaultdict(list)
    processes: dict[int, int] = {}
    named: set[tuple[str, int]] = set()
    for event in document["traceEvents"]:
        found += _event(event)
        if found:
            return found
        pid, tid = event["pid"], event.get("tid", event["pid"])
        if processes.setdefault(tid, pid) != pid:
            found.append(f"thread {tid} is of processes {processes[tid]} and {pid}")
        if event["ph"] == "M":
            named.add((event["name"], pid if event["name"] == "process_name" else tid))
            continue
        if not {("process_name", pid), ("thread_name", tid)} <= named:
            found.append(f"{event['name']}: its process or thread has no name before it")
        start, duration = int(event["ts"] * 1000), int(event["dur"] * 1000)
        slices[tid].append((start, start + duration))
    for tid, some in slices.items():
        found += _overlaps(tid, sorted(some))
    return found


def _event(event: dict[str, Any]) -> list[str]:
    keys = _KEYS.get(event.get("ph", ""))
    if keys is None or not keys <= event.keys():
        return [f"expected the keys of its phase; got {event}"]
    numbers = [event["pid"], event.get("tid", 1)]
    if not all(isinstance(one, int) and one > 0 for one in numbers):
        return [f"process or thread {numbers}"]
    if event["ph"] == "M" and not event["args"].get(_ARGUMENT.get(event["name"], ""), ""):
        return [f"metadata without its argument: {event}"]
    if event["ph"] == "X" and not (event["ts"] >= 0 and event["dur"] >= 0 and event["name"]):
        return [f"expected a name, and times from 0; got {event}"]
    return []


def _overlaps(tid: int, slices: list[tuple[int, int]]) -> list[str]:
    found: list[str] = []
    open_: list[tuple[int, int]] = []
    for start, end in slices:
        while open_ and open_[-1][1] <= start and open_[-1][0] < start:
            open_.pop()
        if open_ and (start == open_[-1][0] or end > open_[-1][1]):
            found.append(f"thread {tid}: {(start, end)} ns overlaps {open_[-1]}")
        open_.append((start, end))
    return found
