"""Check documents in the Trace Event Format, as Perfetto reads it."""

import json
from collections import defaultdict
from typing import Any

_KEYS = {"X": {"name", "cat", "ph", "ts", "dur", "pid", "tid"}, "M": {"name", "ph", "pid", "args"}}
"""Keys of the two kinds of events in use: complete events and metadata."""
_ARGUMENT = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index"}


def problems(document: dict[str, Any]) -> list[str]:
    """Return the problems of a document; [] if it has none.

    Times are microseconds, not negative, and cut off to whole nanoseconds. Numbers of processes and threads are whole
    and over 0, which Perfetto reserves for the idle process; a thread belongs to one process. Every process and thread
    with events has a name before its events. On one thread a slice ends before the next begins, or contains it; two
    never begin at once, because Perfetto would have to guess which one contains the other.
    """
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    if document.get("displayTimeUnit", "ms") not in ("ms", "ns"):
        return [f"displayTimeUnit: {document['displayTimeUnit']}"]
    found: list[str] = []
    slices: dict[int, list[tuple[int, int]]] = defaultdict(list)
    processes: dict[int, int] = {}
    named: set[tuple[str, int]] = set()
    for event in document["traceEvents"]:
        keys, args = _KEYS.get(event.get("ph", "")), event.get("args", {})
        if keys is None or not keys <= event.keys():
            return [f"expected the keys of its phase, got {event}"]
        pid, tid = event["pid"], event.get("tid", event["pid"])
        if not all(isinstance(one, int) and one > 0 for one in (pid, tid)):
            return [f"process or thread {(pid, tid)}"]
        if processes.setdefault(tid, pid) != pid:
            found.append(f"thread {tid} is in processes {processes[tid]} and {pid}")
        if event["ph"] == "M":
            if not args.get(_ARGUMENT.get(event["name"], ""), ""):
                return [f"metadata without its argument: {event}"]
            named.add((event["name"], pid if event["name"] == "process_name" else tid))
            continue
        if not (event["ts"] >= 0 and event["dur"] >= 0 and event["name"]):
            return [f"expected a name, and times from 0, got {event}"]
        if not {("process_name", pid), ("thread_name", tid)} <= named:
            found.append(f"{event['name']}: its process or thread has no name before it")
        start, duration = int(event["ts"] * 1000), int(event["dur"] * 1000)
        slices[tid].append((start, start + duration))
    for tid, some in slices.items():
        open_: list[tuple[int, int]] = []
        for start, end in sorted(some):
            while open_ and open_[-1][1] <= start and open_[-1][0] < start:
                open_.pop()
            if open_ and (start == open_[-1][0] or end > open_[-1][1]):
                found.append(f"thread {tid}: {(start, end)} ns overlaps {open_[-1]}")
            open_.append((start, end))
    return found
