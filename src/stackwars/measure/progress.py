"""What the user sees while cells run: which of how many, the time so far and left, each result.

The workflow writes the list of processes that this run will measure when it starts; each process
adds a line to a second file when it ends. Without them (a rule's command pasted into a shell) the
lines simply carry no count.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

from stackwars.measure.events import event
from stackwars.measure.rounds import STOPPED
from stackwars.setup.environments import REPOSITORY

PLANNED = REPOSITORY / ".snakemake" / "stackwars" / "planned.json"
FINISHED = PLANNED.with_name("finished.jsonl")


def start(outputs: dict[str, float | None]) -> None:
    """Write the plan of this run: {output folder: expected seconds, or None where unknown}."""
    PLANNED.parent.mkdir(parents=True, exist_ok=True)
    PLANNED.write_text(json.dumps({"started_s": time.time(), "outputs": outputs}))
    FINISHED.write_text("")


def remaining_s(expected: list[float | None], finished: list[tuple[float | None, float]]) -> float | None:
    """Seconds left: the expected ones of what is to come, scaled by how this machine has kept to them.

    expected: of each process to come. finished: (expected, actual) of each ended one. A process with
    no expectation counts as the mean of those that have ended. None where nothing is known.
    """
    actual_s = [actual for _, actual in finished]
    known = [(wanted, actual) for wanted, actual in finished if wanted]
    scale = sum(a for _, a in known) / sum(w for w, _ in known) if known else 1.0
    mean = statistics.fmean(actual_s) if actual_s else None
    total = 0.0
    for seconds in expected:
        share = seconds * scale if seconds is not None else mean
        if share is None:
            return None
        total += share
    return total


def announce(job: object, output: Path) -> None:
    """Say which process is about to run."""
    name = _name(vars(job))
    plan = _plan()
    if str(output) not in plan["outputs"]:
        _say(f"{name}: running")
        return
    ended = _ended()
    outputs = plan["outputs"]
    remaining = remaining_s(
        [seconds for path, seconds in outputs.items() if path not in ended],
        [(outputs.get(path), seconds) for path, seconds in ended.items()],
    )
    so_far = _minutes(time.time() - plan["started_s"])
    to_go = "time left not known yet" if remaining is None else f"about {_minutes(remaining)} left"
    _say(f"{len(ended) + 1} of {len(outputs)}: {name}: running ({so_far} so far, {to_go})")


def report(output: Path, result: dict) -> None:
    """Note that a process has ended, and say how, unless it was not needed."""
    if result["status"] != STOPPED:
        _say(f"    {_name(result)}: {summary(result)} [{result['wall_s']:.1f} s]")
    if PLANNED.exists():
        with FINISHED.open("a") as file:
            file.write(json.dumps({"output": str(output), "wall_s": result["wall_s"]}) + "\n")


def summary(result: dict) -> str:
    """One line: the three latencies of an ok process, else its status and why.

    Of a replay, the steady state of each program; of a process whose partner failed, that too.
    """
    if result["status"] != "ok":
        return _ended_badly(result)
    steady = [e for e in result["events"] if e["event"] == "steady"]
    if not steady:  # a process of several shapes has none
        return "ok"
    calls = len(steady[0]["ns"]) * steady[0]["calls"]
    if "programs" in result:
        times = ", ".join(f"{e['program']} {_time(e)}" for e in steady)
        return f"ok: steady {times} ({calls} calls each)"
    first, second = (_time(event(result, name)) for name in ("first", "second"))
    line = f"ok: first {first}, second {second}, steady {_time(steady[0])} ({calls} calls)"
    partner = result.get("partner") or {"status": "not run"}
    if partner["status"] in ("ok", "not run"):
        return line
    return f"{line}; no ratio of this round, for its partner {partner['framework']}: {_ended_badly(partner)}"


def _ended_badly(result: dict) -> str:
    return f"{result['status']}: {result['status_detail'].splitlines()[0][:160]}"


def _time(timed: dict) -> str:
    """What a call of this event took: the one call, or one of the median block."""
    ns = timed["ns"]
    call_ns = statistics.median(ns) / timed["calls"] if isinstance(ns, list) else ns
    return f"{call_ns / 1e6:.3f} ms"


def _name(record: dict) -> str:
    """What a process is called: by its framework or, a replay, by the compiler."""
    who = record.get("framework") or f"replay in {record['compiler']}"
    return f"{who} {record['workload']} {record['device']} process {record['repetition'] + 1}"


def _plan() -> dict:
    return json.loads(PLANNED.read_text()) if PLANNED.exists() else {"outputs": {}}


def _ended() -> dict[str, float]:
    rows = [json.loads(line) for line in FINISHED.read_text().splitlines()] if FINISHED.exists() else []
    return {row["output"]: row["wall_s"] for row in rows}


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _say(text: str) -> None:
    print(f"[stackwars] {text}", file=sys.stderr, flush=True)
