"""The parent of one process repetition: spawns the child, caps it, times it out, records how it ended.

It always leaves a result, whatever the child does, and it dies with the workflow that started it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stackwars import machine, progress
from stackwars.environments import REPOSITORY, clean_environ, ensure
from stackwars.measure import limits
from stackwars.measure.classify import Ending, status

POLL_S = 0.1
CELL = "stackwars.measure.child"
"""The module that a cell's process runs."""
RUNNER = "STACKWARS_RUNNER_PID"
"""Environment variable with the process number of the workflow; the child must not outlive it."""


@dataclass(frozen=True)
class Job:
    """One repetition of one cell: what the child needs to know.

    settings: those of the configuration; sizes: those of the workload.
    """

    framework: str
    dialect: str
    workload: str
    device: str
    preset: str
    repetition: int
    sizes: dict[str, int]
    settings: dict


def supervise(job: Any, python: Path, folder: Path, child_module: str = CELL) -> dict:
    """Run the child in `folder` (made afresh) and return the process result; never raises for its fate.

    job: a Job, or another dataclass with settings that the child module understands. The folder then
    holds spec.json, events.jsonl, log.txt and, where the child came that far, what it writes itself.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps(asdict(job), indent=1))
    started = datetime.now(UTC)
    cap = limits.cap_bytes(job.settings["memory_cap_gib"])
    kills = limits.kernel_oom_kills()
    start = time.monotonic()
    child = _spawn(python, folder, cap, child_module)
    timed_out, over_cap = watch(child.pid, cap, start + job.settings["timeout_s"])
    _, wait_status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(wait_status)
    wall_s = time.monotonic() - start
    events = read_events(folder)
    ending = Ending(
        events, child.returncode, tail(folder / "log.txt"),
        timed_out, over_cap, limits.kernel_oom_kills() > kills,
    )  # fmt: skip
    result_status, detail = status(ending)
    return {
        "status": result_status,
        "status_detail": detail,
        **asdict(job),
        "started_utc": started.isoformat(timespec="seconds"),
        "started_s": started.timestamp(),
        "wall_s": round(wall_s, 3),
        "user_s": round(usage.ru_utime, 3),
        "system_s": round(usage.ru_stime, 3),
        "peak_rss_bytes": usage.ru_maxrss * 1024,
        "memory_cap_bytes": cap,
        "exit_code": child.returncode,
        "events": events,
        "machine": machine.record(),
        "source": machine.revision(),
        "environment": python.parents[1].name,
        "repeated": True,
    }


def _spawn(python: Path, folder: Path, cap: int, module: str = CELL) -> subprocess.Popen:
    # An empty cache folder for each process: a first run must not find what another one compiled.
    cache = (folder / "cache").resolve()
    cache.mkdir()
    environ = clean_environ(
        {
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_VERBOSITY": "error",
            "XDG_CACHE_HOME": str(cache),
            "TMPDIR": str(cache),
            "TF_CPP_MIN_LOG_LEVEL": "1",
        }
    )
    parent = os.getpid()
    with (folder / "log.txt").open("wb") as log:
        return subprocess.Popen(
            [str(python), "-m", module, str(folder.resolve())],
            cwd=REPOSITORY, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=lambda: limits.enter_child(cap, parent),
        )  # fmt: skip


def watch(pid: int, cap: int, deadline: float) -> tuple[bool, bool]:
    """Wait until the child can be reaped; kill it for its memory, its time or a dead workflow."""
    runner = int(os.environ.get(RUNNER, os.getppid()))
    timed_out = over_cap = False
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        over_cap = limits.resident_bytes(pid) > cap
        timed_out = time.monotonic() > deadline
        if not limits.alive(runner):
            os.killpg(pid, signal.SIGKILL)
            sys.exit("the workflow that asked for this cell is gone: the cell was stopped")
        if over_cap or timed_out:
            os.killpg(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            break
        time.sleep(POLL_S)
    return timed_out, over_cap


def read_events(folder: Path) -> list[dict]:
    path = folder / "events.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    events = []
    for line in lines:
        try:
            events.append(json.loads(line))
        except json.JSONDecodeError:
            break  # the child died while writing this line
    return events


def tail(path: Path, lines: int = 30) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def main() -> None:
    """`python -m stackwars.measure.supervisor`: one repetition of one cell, into one folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--job", required=True, help="the Job, as JSON")
    parser.add_argument("--pins", required=True, type=Path, help="pins file of the environment")
    parser.add_argument("--output", required=True, type=Path, help="folder to write, made afresh")
    arguments = parser.parse_args()
    run(Job(**json.loads(arguments.job)), arguments.pins, arguments.output)


def run(job: Any, pins: Path, output: Path, child_module: str = CELL) -> None:
    """Supervise one repetition in the environment of the pins, alone on this machine; write `output`."""
    python = ensure(pins)
    output.parent.mkdir(parents=True, exist_ok=True)
    (REPOSITORY / "results").mkdir(exist_ok=True)
    progress.announce(job, output)
    part = output.with_name(output.name + ".part")
    result = _not_repeated(job, output, part)
    if result is None:
        with (REPOSITORY / "results" / ".measuring.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two cells at once would measure each other
            result = supervise(job, python, part, child_module)
    shutil.rmtree(part / "cache", ignore_errors=True)
    (part / "process.json").write_text(json.dumps(result, indent=1))
    shutil.rmtree(output, ignore_errors=True)
    part.rename(output)
    progress.report(output, result)


def _not_repeated(job: Any, output: Path, part: Path) -> dict | None:
    """The result of a repetition whose first one ran out of memory or time: the same, without a run."""
    first = output.with_name("process-0") / "process.json"
    if job.repetition == 0 or not first.exists():
        return None
    result = json.loads(first.read_text())
    if result["status"] not in ("oom", "timeout"):
        return None
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    return {**result, "repetition": job.repetition, "repeated": False, "wall_s": 0.0}


if __name__ == "__main__":
    main()
