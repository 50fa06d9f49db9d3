"""The lines that a process writes about itself to its log, of which the terminal shows the last one
(`stackwars.study.workflow.terminal`).
"""

from __future__ import annotations

import statistics
import sys

from stackwars.core.documents import event


def announce(job: object) -> None:
    """Say which process is about to run."""
    _say(f"{_name(vars(job))}: running")


def report(result: dict) -> None:
    """Say how a process ended."""
    _say(f"    {_name(result)}: {summary(result)} [{result['wall_s']:.1f} s]")


def summary(result: dict) -> str:
    """Return one line: two calls and the undisturbed series of an ok process, else its status and why.

    A replay has a series of each program. A round without series shows its last loops. Tables use the steady state of
    all loops, which this line does not show.
    """
    if result["status"] != "ok":
        return _ended_badly(result)
    word, timed = "series", [e for e in result["events"] if e["event"] == "steady"]
    if not timed:
        last = {e.get("program"): e for e in result["events"] if e["event"] == "loop"}
        word, timed = "loop", list(last.values())
    if not timed:  # a process of several shapes has neither
        return "ok"
    calls = len(timed[0]["ns"]) * timed[0]["calls"]
    if "programs" in result:
        times = ", ".join(f"{e['program']} {_time(e)}" for e in timed)
        return f"ok: {word} {times}" + (f" ({calls} calls each)" if word == "series" else "")
    first, second = (_time(event(result, name)) for name in ("first", "second"))
    line = f"ok: first {first}, second {second}, {word} {_time(timed[0])} ({calls} calls)"
    partner = result.get("partner") or {"status": "not run"}
    if partner["status"] in ("ok", "not run"):
        return line
    return f"{line}; no ratio of this round, for its partner {partner['framework']}: {_ended_badly(partner)}"


def _ended_badly(result: dict) -> str:
    return f"{result['status']}: {result['status_detail'].splitlines()[0][:160]}"


def _time(timed: dict) -> str:
    """Return the time of a call of this event: the one call, or a call of the median block."""
    ns = timed["ns"]
    call_ns = statistics.median(ns) / timed["calls"] if isinstance(ns, list) else ns
    return f"{call_ns / 1e6:.3f} ms"


def _name(record: dict) -> str:
    """Return a process's name: its framework's or, for a replay, its compiler's."""
    who = record.get("framework") or f"replay in {record['compiler']}"
    return f"{who} {record['workload']} {record['device']} process {record['repetition'] + 1}"


def _say(text: str) -> None:
    print(f"[stackwars] {text}", file=sys.stderr, flush=True)
