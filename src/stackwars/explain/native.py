"""A workload in eager PyTorch or NumPy: what a slow program of every compiler is slow against.

Runs in the framework's environment. `python -m stackwars.explain.native --job FILE --output FILE`.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stackwars import frameworks, workloads
from stackwars.compilers.check import recorded
from stackwars.explain.outcomes import (
    BLOCK_NS,
    CRASH,
    FAILED,
    HANG,
    MOST_CALLS,
    REFUSED,
    RIGHT,
    UNJUDGED,
    WRONG,
    outcome,
    timing,
)
from stackwars.measure import documents, judge, launch, limits, process_status
from stackwars.measure.calls import block, timed_call
from stackwars.measure.contention import Meter
from stackwars.measure.documents import read_events
from stackwars.setup.environments import why_unavailable

LEAST_BLOCKS = 5
STATUS = {"wrong": WRONG, "crash": CRASH, "timeout": HANG, "unsupported": REFUSED}
"""Outcomes by the status of a process; others failed."""


@dataclass(frozen=True)
class NativeJob:
    """A workload in a framework. expected: the folder of the expected values. settings: of a plan."""

    framework: str
    workload: str
    sizes: dict[str, int]
    seed: int
    expected: str
    settings: dict[str, Any]


def native(job: NativeJob) -> dict[str, Any]:
    """Return the framework's document, in which its one program is named as it is."""
    if why := why_unavailable():
        found, versions = outcome(FAILED, why), {}
    else:
        with tempfile.TemporaryDirectory() as folder:
            found, versions = _in_process(job, Path(folder))
    return {"versions": versions, "programs": {job.framework: found}}


def _in_process(job: NativeJob, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return (the outcome of a process of its own, versions)."""
    cap = limits.cap_bytes(job.settings["memory_cap_gib"])
    timeout_s = job.settings["timeout_s"]
    report = launch.run_forked(partial(run, job, folder), cap, timeout_s, folder / "log.txt")
    events = read_events(folder)
    named = {event["event"]: event for event in events}
    status, detail = process_status.status(report, events)
    versions = named.get("build", {}).get("versions", {})
    if status != "ok":
        return outcome(STATUS.get(status, FAILED), detail[:600]), versions
    verdict, numbers = named["judged"]["verdict"], named["timed"]["timing"]
    if verdict is None:
        return outcome(UNJUDGED, judge.read(Path(job.expected)).reason, **numbers), versions
    if problem := judge.problem(verdict):
        return outcome(WRONG, problem, **{key: verdict[key] for key in ("wrong", "total", "where")}), versions
    return outcome(RIGHT, **{key: verdict[key] for key in ("total", "largest", "limit")}, **numbers), versions


def run(job: NativeJob, folder: Path) -> None:
    """Build the workload, call it with both sets of inputs, judge it and time it; write events into the folder."""
    with recorded(folder) as events:
        module = frameworks.load(job.framework)
        events.write("import")
        session = module.Session("cpu", job.settings["matmul_precision"])
        workload, build = workloads.load(job.workload), workloads.build(job.workload, module.DIALECT)
        events.write("build", versions={"numpy": np.__version__, **session.versions()})
        session.build(build, job.sizes, job.seed, workload.input_sets(job.sizes, job.seed))
        session.settle()
        events.write("run")
        outputs, values = [], {}
        for which, name in enumerate(("first", "second")):
            output, _, _ = timed_call(session, which)
            outputs.append(output)
            if which == 0 or not hasattr(workload, "STATE"):
                fetched = judge.output_values(session.fetch(output), which)
                values |= {f"{name}/{key}": np.array(value) for key, value in fetched.items()}
            if which == 0 and hasattr(workload, "STATE"):
                values |= {f"first/state/{leaf}": np.array(value) for leaf, value in session.state().items()}
        events.write("judged", verdict=judge.judge(values, judge.read(Path(job.expected))))
        _, _, ns = timed_call(session, 0)
        calls = min(MOST_CALLS, max(1, BLOCK_NS // max(1, ns)))
        blocks: list[float] = []
        meter = Meter()
        end = time.perf_counter() + job.settings["seconds"]
        while len(blocks) < LEAST_BLOCKS or time.perf_counter() < end:
            blocks.append(block(session, calls, 0, outputs) / calls / 1e6)
        events.write("timed", timing=timing(np.array(blocks), meter.other_processes_share()))


def main() -> None:
    options = documents.parse_arguments(__doc__, "job", "output")
    documents.write(options.output, native(NativeJob(**documents.read(options.job))))


if __name__ == "__main__":
    main()
