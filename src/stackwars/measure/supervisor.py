"""The parent of one process of a round: spawns the child, caps it, times it out, records how it ended.

It always leaves a result, whatever the child does, and it dies with the workflow that started it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import shutil
import statistics
import subprocess
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from stackwars.measure import documents, interleaved, kept, limits, machine, nodes, progress, rounds
from stackwars.measure.events import event, read_events
from stackwars.measure.interleaved_control import REPLY, Control
from stackwars.measure.process_status import Ending, status
from stackwars.measure.watch import tail, watch
from stackwars.setup.device import cores, variables
from stackwars.setup.environments import REPOSITORY, Unavailable, clean_environ, ensure

PADDING = 4096
"""Maximum bytes of random padding of a child's environment."""
CELL = "stackwars.measure.child"
"""The module that a cell's process runs."""


@dataclass(frozen=True)
class ProcessJob:
    """One process of one cell: what the child needs to know.

    repetition: the round that it belongs to, from 0. settings: those of the configuration, and
    block_calls, the calls in a block; sizes: those of the workload. partner: what of the job differs for the
    process that is interleaved with this one, see `interleaved`; None for the baseline itself. forms: whether
    it also writes what the framework's compiler makes of the workload.
    """

    framework: str
    dialect: str
    workload: str
    device: str
    preset: str
    repetition: int
    sizes: dict[str, int]
    settings: dict
    partner: dict[str, str] | None = None
    forms: bool = False


def supervise(
    job: Any, python: Path, folder: Path, child_module: str = CELL, control: Control | None = None
) -> dict:
    """Run the child in `folder` (made afresh) and return the process result; never raises for its fate.

    job: a ProcessJob, or another dataclass with settings that the child module understands. The folder then
    holds spec.json, events.jsonl, log.txt and, where the child came that far, what it writes itself.
    control: of a child that is interleaved with another.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps(asdict(job), indent=1))
    started = datetime.now(UTC)
    cap = limits.cap_bytes(job.settings["memory_cap_gib"])
    kills = limits.kernel_oom_kills()
    start = time.monotonic()
    child = _spawn(job, python, folder, cap, child_module, control)
    memory = kept.Memory(start)
    timed_out, over_cap = watch(child.pid, cap, start + job.settings["timeout_s"], memory.add)
    _, wait_status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(wait_status)
    wall_s = time.monotonic() - start
    events = read_events(folder)
    ending = Ending(
        events, child.returncode, tail(folder / "log.txt"),
        timed_out, over_cap, limits.kernel_oom_kills() > kills, python.parents[1].name,
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
        "memory": memory.document(),
        "memory_cap_bytes": cap,
        "exit_code": child.returncode,
        "log_tail": kept.log_tail(folder / "log.txt", python, result_status == "ok"),
        "events": events,
        "machine": machine.record(),
        "source": machine.revision(),
        "environment": python.parents[1].name,
        "repeated": True,
    }


def _spawn(
    job: Any, python: Path, folder: Path, cap: int, module: str, control: Control | None = None
) -> subprocess.Popen:
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
            # The size of the environment moves the stack, and with it the speed of a process
            # (Mytkowicz et al., ASPLOS 2009): at random, so that it is noise and no bias.
            "STACKWARS_PADDING": "x" * random.randrange(PADDING),
            **variables(job.device),
            **({REPLY: str(control.writer)} if control else {}),
        }
    )
    parent, cpus = os.getpid(), cores(job.device)
    with (folder / "log.txt").open("wb") as log:
        child = subprocess.Popen(
            [str(python), "-m", module, str(folder.resolve())],
            cwd=REPOSITORY, env=environ, stdout=log, stderr=log,
            stdin=subprocess.PIPE if control else subprocess.DEVNULL,
            pass_fds=(control.writer,) if control else (),
            preexec_fn=lambda: (os.sched_setaffinity(0, cpus), limits.enter_child(cap, parent)),
        )  # fmt: skip
    if control:
        control.attach(child)
    return child


def main() -> None:
    """`python -m stackwars.measure.supervisor`: one process of one cell, into one folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--job", required=True, help="file of the ProcessJob, as JSON")
    parser.add_argument("--pins", required=True, type=Path, help="pins file of the environment")
    parser.add_argument("--output", required=True, type=Path, help="folder to write, made afresh")
    parser.add_argument("--partner-pins", type=Path, help="pins file of the partner's environment")
    a = parser.parse_args()
    run(ProcessJob(**documents.read(a.job)), a.pins, a.output, partner_pins=a.partner_pins)


def run(
    job: Any,
    pins: Path,
    output: Path,
    child_module: str = CELL,
    partner_pins: Path | None = None,
) -> None:
    """Supervise one process in the environment of the pins, alone on this machine; write `output`.

    partner_pins: of the environment of the job's partner, if it has one.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    (REPOSITORY / "results").mkdir(exist_ok=True)
    part = output.with_name(output.name + ".part")
    result = _not_run(job, output)
    all_pins = [pins, partner_pins] if partner_pins else [pins]
    if result is None and (earlier := nodes.bring_back(job, all_pins, output)):
        progress.report(output, earlier)
        return
    if result is None:
        try:
            python = ensure(pins)
            partner = ensure(partner_pins) if partner_pins else None
        except Unavailable as error:
            result = _unsupported(job, str(error))
    if result is None:
        progress.announce(job, output)

        def attempt(wanted: Any) -> dict:
            if partner is None:
                return supervise(wanted, python, part, child_module)
            supervise_child = partial(supervise, child_module=child_module)
            return interleaved.run_with_partner(supervise_child, wanted, python, partner, part, str(output))

        with nodes.lock().open("w") as lock:
            if not job.settings.get("side_by_side"):
                fcntl.flock(lock, fcntl.LOCK_EX)  # two cells at once would measure each other
            nodes.ensure_peak(job.device, output)
            result = attempt(job)
            if job.settings.get("steady_repeats") and _unsteady(result):
                again = attempt(replace(job, settings=_longer(job.settings)))
                result = {**again, "settings": job.settings, "discarded_s": result["wall_s"]}
    else:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
    for scratch in ("cache", "partner"):
        shutil.rmtree(part / scratch, ignore_errors=True)
    (part / "process.json").write_text(json.dumps(result, indent=1))
    shutil.rmtree(output, ignore_errors=True)
    part.rename(output)
    nodes.keep(job, all_pins, output)
    progress.report(output, result)


def _unsupported(job: Any, why: str) -> dict:
    """The result of a process whose packages cannot be had with this Python."""
    now = datetime.now(UTC)
    return {
        "status": "unsupported",
        "status_detail": why,
        **asdict(job),
        "started_utc": now.isoformat(timespec="seconds"),
        "started_s": now.timestamp(),
        "wall_s": 0.0,
        "peak_rss_bytes": 0,
        "memory_cap_bytes": limits.cap_bytes(job.settings["memory_cap_gib"]),
        "events": [],
        "machine": machine.record(),
        "source": machine.revision(),
        "repeated": True,
    }


def _unsteady(result: dict) -> bool:
    """Whether an ok process found no steady state; the library that tells takes a second to load."""
    if result["status"] != "ok" or _level(event(result, "steady")["ns"]):
        return False
    from stackwars.measure import process_value, steady

    (value,) = process_value.of_processes([result]).values()
    return value.kind == steady.NONE


def _level(ns: list[int]) -> bool:
    """Whether the thirds of a series have one level, within 5 %: then it is steady beyond doubt."""
    third = len(ns) // 3
    if third < 3:
        return True  # too short to tell, and twice as many calls of so slow a workload would be no better
    levels = [statistics.median(part) for part in (ns[:third], ns[third:-third], ns[-third:])]
    return max(levels) <= 1.05 * min(levels)


def _longer(settings: dict) -> dict:
    """Settings for twice the blocks: a process without a steady state may have been short.

    Its result keeps the settings of the configuration; `discarded_s` tells that it was given more.
    """
    keys = ("steady_seconds", "steady_min_blocks", "steady_max_blocks")
    return settings | {key: 2 * settings[key] for key in keys}


def _not_run(job: Any, output: Path) -> dict | None:
    """The result of a process that is not needed; None if it is.

    Not needed is one whose first round ran out of memory or time or could not be had, which has the same
    result, and one after the rounds have ended.
    """
    nothing = {**asdict(job), "events": [], "repeated": False, "wall_s": 0.0}
    first = output.with_name("process-0") / "process.json"
    if job.repetition and first.exists():
        result = documents.read(first)
        if result["status"] in ("oom", "timeout", "unsupported"):
            return {**result, "repetition": job.repetition, "repeated": False, "wall_s": 0.0}
    reason = rounds.stop_reason(job, output)
    return reason and {**nothing, "status": rounds.STOPPED, "status_detail": reason}


if __name__ == "__main__":
    main()
