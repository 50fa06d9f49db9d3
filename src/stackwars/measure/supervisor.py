"""The parent of one process of a round: spawns the child, caps it, times it out, records how it ended.

It always leaves a result, whatever the child does, and it dies with the workflow that started it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import random
import shutil
import statistics
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.measure import documents, interleaved, judge, launch, limits, machine, nodes, progress, rounds
from stackwars.measure.documents import event, read_events
from stackwars.measure.interleaved import REPLY
from stackwars.measure.process_status import status
from stackwars.setup import device
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
    it also writes what the framework's compiler makes of the workload. expected: folder of the values that its
    outputs are compared with, relative to the repository; "" if there are none. peers: what is measured in the same
    rounds, as of `rounds.stop_reason`.
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
    expected: str = ""
    peers: dict = field(default_factory=dict, kw_only=True)


def supervise(
    job: Any,
    python: Path,
    folder: Path,
    child_module: str = CELL,
    control: interleaved.Control | None = None,
) -> dict:
    """Run the child in `folder` (made afresh) and return the process result; never raises for its fate.

    job: a ProcessJob, or another dataclass with settings that the child module understands. The folder then
    holds spec.json, events.jsonl, log.txt and, where the child came that far, what it writes itself.
    control: of a child that is interleaved with another.
    """
    shutil.rmtree(folder, ignore_errors=True)
    # An empty cache folder for each process: a first run must not find what another one compiled.
    cache = (folder / "cache").resolve()
    cache.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps(asdict(job), indent=1))
    started, cap = datetime.now(UTC), limits.cap_bytes(job.settings["memory_cap_gib"])
    report = launch.run_child(
        python, ["-m", child_module, str(folder.resolve())],
        _environ(job, cache, control), cap, job.settings["timeout_s"],
        log=folder / "log.txt", cpus=device.cores(job.device), control=control,
    )  # fmt: skip
    events = read_events(folder)
    result_status, detail = status(report, events, python.parents[1].name)
    return {
        "status": result_status,
        "status_detail": detail,
        **_identity(job),
        **_when(started),
        "wall_s": report.wall_s,
        "user_s": report.user_s,
        "system_s": report.system_s,
        "peak_rss_bytes": report.peak_rss_bytes,
        "memory": report.memory,
        "memory_cap_bytes": cap,
        "exit_code": report.exit_code,
        "log_tail": launch.portable_log(folder / "log.txt", python, result_status == "ok"),
        "events": events,
        "machine": machine.record(),
        "source": machine.revision(),
        "environment": python.parents[1].name,
        "repeated": True,
        "values": _judged(job, folder),
    }


def _environ(job: Any, cache: Path, control: interleaved.Control | None) -> dict[str, str]:
    return clean_environ(
        {
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_VERBOSITY": "error",
            "XDG_CACHE_HOME": str(cache),
            "TMPDIR": str(cache),
            "TF_CPP_MIN_LOG_LEVEL": "1",
            # The size of the environment moves the stack, and with it the speed of a process
            # (Mytkowicz et al., ASPLOS 2009): at random, so that it is noise and no bias.
            "STACKWARS_PADDING": "x" * random.randrange(PADDING),
            **device.variables(job.device),
            **({REPLY: str(control.writer)} if control else {}),
        }
    )


def _identity(job: Any) -> dict:
    """Return the fields of a job that its result stores."""
    return {key: value for key, value in asdict(job).items() if key not in ("peers", "expected", "check")}


def _when(started: datetime) -> dict:
    return {"started_utc": started.isoformat(timespec="seconds"), "started_s": started.timestamp()}


def main() -> None:
    """`python -m stackwars.measure.supervisor`: run one process, into one folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--job", required=True, help="file of the job, as JSON")
    parser.add_argument(
        "--child", default=CELL, help="the module to run, which has the class of its jobs as JOB"
    )
    parser.add_argument("--pins", required=True, type=Path, help="pins file of the environment")
    parser.add_argument("--output", required=True, type=Path, help="folder to write, made afresh")
    parser.add_argument("--partner-pins", type=Path, help="pins file of the partner's environment")
    parser.add_argument("--peers", type=Path, help="file of the peers of each workload on each device, as JSON")
    a = parser.parse_args()
    job_class = ProcessJob if a.child == CELL else import_module(a.child).JOB
    job = job_class(**documents.read(a.job))
    if a.peers:
        job = replace(job, peers=documents.read(a.peers)[job.device][job.workload])
    run(job, a.pins, a.output, a.child, a.partner_pins)


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
    result = _not_needed(job, output)
    all_pins = [pins, partner_pins] if partner_pins else [pins]
    if result is None and (earlier := nodes.restore(job, all_pins, output)):
        progress.report(earlier)
        return
    # The device first: its environment may be a download of gigabytes.
    if result is None and (absent := device.why_absent(job.device)):
        result = _nothing(job, "not run", absent)
    if result is None:
        try:
            python, *partner = [ensure(one) for one in all_pins]
        except Unavailable as error:
            result = {**_nothing(job, "unsupported", str(error)), "repeated": True}
    if result is None:
        result = _measured(job, python, partner, part, output, child_module)
    else:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
    for scratch in ("cache", "partner"):
        shutil.rmtree(part / scratch, ignore_errors=True)
    (part / "process.json").write_text(json.dumps(result, indent=1))
    shutil.rmtree(output, ignore_errors=True)
    part.rename(output)
    nodes.save(job, all_pins, output)
    progress.report(result)


def _measured(job: Any, python: Path, partner: list[Path], part: Path, output: Path, child_module: str) -> dict:
    """Measure in the folder `part`, alone on this machine; partner: its Python, if it has one."""
    progress.announce(job)

    def attempt(wanted: Any) -> dict:
        if not partner:
            return supervise(wanted, python, part, child_module)
        supervise_child = partial(supervise, child_module=child_module)
        return interleaved.run_with_partner(supervise_child, wanted, python, partner[0], part, str(output))

    with nodes.lock().open("w") as lock:
        if not job.settings.get("side_by_side"):
            fcntl.flock(lock, fcntl.LOCK_EX)  # two cells at once would measure each other
        nodes.ensure_peak(job.device, output)
        result = attempt(job)
        if job.settings.get("steady_repeats") and _unsteady(result):
            again = attempt(replace(job, settings=_longer(job.settings)))
            result = {**again, "settings": job.settings, "discarded_s": result["wall_s"]}
    return result


def _judged(job: Any, folder: Path) -> dict | None:
    """Return the verdict on the outputs in a process's folder and delete them; None without outputs."""
    outputs = folder / judge.OUTPUTS
    if not outputs.exists():
        return None
    with np.load(outputs) as values:
        verdict = judge.judge(values, judge.read(Path(job.expected)))
    outputs.unlink()
    return verdict


def _nothing(job: Any, status_: str, why: str) -> dict:
    """The result of a process that was not measured."""
    return {
        "status": status_,
        "status_detail": why,
        **_identity(job),
        **_when(datetime.now(UTC)),
        "wall_s": 0.0,
        "peak_rss_bytes": 0,
        "memory_cap_bytes": limits.cap_bytes(job.settings["memory_cap_gib"]),
        "events": [],
        "machine": machine.record(),
        "source": machine.revision(),
        "repeated": False,
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


def _not_needed(job: Any, output: Path) -> dict | None:
    """The result of a process that is not needed; None if it is.

    Not needed is one whose first round ran out of memory or time or could not be had, which has the same
    result, and one after the rounds have ended.
    """
    first = output.with_name("process-0") / "process.json"
    if job.repetition and first.exists():
        result = documents.read(first)
        if result["status"] in ("oom", "timeout", "unsupported"):
            return {**result, "repetition": job.repetition, "repeated": False, "wall_s": 0.0}
    reason = rounds.stop_reason(job, output)
    return reason and _nothing(job, rounds.STOPPED, reason)


if __name__ == "__main__":
    main()
