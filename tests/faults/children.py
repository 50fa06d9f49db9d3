"""Faults of the process that is timed, of its memory and of the two processes around it."""

from __future__ import annotations

import json
from typing import Any

from faults.fault import Fault
from faults.scratch import TABLES, Scratch

CELL = "cpu/jax/gemm"
OTHER = "cpu/numpy/gemm"
"""Interleaved with a process of the baseline."""
CHILD = "stackwars.measure.child"
FIRST = "process-0.part"


def child(identity: str, title: str, do: str, says: str, event: str = "", **more: Any) -> Fault:
    """A fault in the first process of a cell; the cell is then deleted, and measured again."""
    wanted = {"module": CHILD, "argument": f"jax/gemm/{FIRST}", "do": do, "event": event, **more}
    return Fault(
        identity,
        title,
        prepare=lambda scratch: scratch.forget(CELL),
        run=lambda scratch: scratch.run(TABLES, sabotage=wanted),
        says=says,
        recover=lambda scratch: scratch.forget(CELL),
        spends=(f"{CELL}/",),
    )


def around(identity: str, title: str, says: str, **wanted: Any) -> Fault:
    """A fault around a process that has a partner; what it leaves is a whole result, or none."""
    return Fault(
        identity,
        title,
        prepare=lambda scratch: scratch.forget(OTHER),
        run=lambda scratch: scratch.run(TABLES, sabotage={"module": CHILD, **wanted}),
        says=says,
        extra=without_partner if "partner" in identity else lambda scratch: [],
    )


def without_partner(scratch: Scratch) -> list[str]:
    """The process went on when its partner had been killed."""
    found = json.loads((scratch.results / OTHER / "cell.json").read_text())["processes"][0]
    came = (found["status"], found["partner"]["status"])
    return [] if came == ("ok", "error") else [f"expected ok and a partner's error, got {came}"]


MEMORY = {
    "import": ("importing", "import", "import", {}),
    # When so small a workload is built or called, it asks for nothing: these requests stand for a larger one.
    "build": ("building", "build", "build", {"ask": 2**30}),
    "compile": ("compiling", "compile", "run", {}),
    "call": ("calling", "run", "second", {"ask": 2**30}),
}
FAULTS = [
    child("child-killed", "Timed process killed", "die", r"error: ended by SIGKILL", "first"),
    child("child-hung", "Timed process hung", "hang", r"timeout: over the time limit", "run"),
    child(
        "child-raised",
        "Timed process raised",
        "fail",
        r"error: RuntimeError: broken on purpose \(phase: first\)",
        "first",
        message="broken on purpose",
    ),
    child(
        "child-silent",
        "Timed process exited 0 with nothing written",
        "leave",
        r"error: ended with exit code 0 before its work was done",
    ),
    around(
        "supervisor-killed",
        "Supervisor of a timed process killed",
        rf"Failed: results/smoke/{OTHER}/process-0",
        do="die_with_parent",
        argument=f"numpy/gemm/{FIRST}",
        event="second",
    ),
    around(
        "partner-killed",
        "Partner of an interleaved process killed",
        r"numpy gemm cpu process 1: ok: .*; no ratio of this round, for its partner jax: error: ended by",
        do="die",
        argument=f"numpy/gemm/{FIRST}/partner",
        event="steady",
    ),
    *(
        child(
            f"cap-{name}",
            f"Memory cap reached while {doing}",
            "reach_cap",
            rf": oom: refused at {place}",
            event,
            **more,
        )
        for name, (doing, place, event, more) in MEMORY.items()
    ),
    child("events-truncated", "Event file truncated", "tear", r"error: .* before its work", "end"),
    child("events-garbage", "Event file of garbage", "garble", r"error: .* before its work", "end"),
    child(
        "clock-back",
        "Clock set back in the timed process",
        "set_clock_back",
        r"invalid: second clock",
        "run",
    ),
]
