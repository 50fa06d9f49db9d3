"""A measured process: a worker (`core.worker`) in surroundings that are random or fixed, and its record.

There always is a record, however the process ends. Two measurements never share the machine (`exclusive`).
"""

from __future__ import annotations

import fcntl
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stackwars.core import documents, judge, launch, limits, machine
from stackwars.core.client import Process
from stackwars.core.documents import read_events
from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Failed, status
from stackwars.measure import nodes, progress
from stackwars.setup import device
from stackwars.setup.environments import Unavailable, ensure

PADDING = 4096
"""Maximum bytes of random padding of a child's environment."""
CELL = "stackwars.measure.child"
"""The module that a cell's process runs."""


@dataclass(frozen=True)
class ProcessJob:
    """One process of one cell, as the child needs it.

    repetition: the round that it belongs to, from 0. settings: the configuration's, and block_calls, the calls in a
    block; sizes: the workload's. partner: the fields of the job that differ for the baseline's process in the same
    round; None for the baseline itself. forms: whether it also writes what the framework's compiler makes of the
    workload. expected: folder of the values that its outputs are compared with, relative to the repository; "" if
    there are none. writes_files: whether it writes its program, forms and outputs; a process that others are only
    compared with does not.
    """

    framework: str
    dialect: str
    workload: str
    device: str
    preset: str
    repetition: int
    sizes: dict[str, int]
    settings: dict
    partner: dict[str, Any] | None = None
    forms: bool = False
    expected: str = ""
    writes_files: bool = True


class MeasuredProcess(Process):
    """A process that measures, in a folder that is emptied first: its commands, and its record once it has ended.

    The folder then holds spec.json, events.jsonl, log.txt and, if the process got that far, its files.
    """

    def __init__(
        self,
        job: Any,
        python: Path,
        folder: Path,
        child_module: str = CELL,
        seed: int | None = None,
        patience: int = 1,
    ) -> None:
        """job: a ProcessJob, or another dataclass with settings that the child module understands. seed: of its random
        surroundings, by default the system's. patience: factor of its time limit, because it may wait for others.
        """
        shutil.rmtree(folder, ignore_errors=True)
        # An empty cache folder for each process: a first run must not find what another one compiled.
        cache = (folder / "cache").resolve()
        cache.mkdir(parents=True)
        documents.write(folder / "spec.json", asdict(job))
        super().__init__(
            python,
            ["-m", child_module, str(folder.resolve())],
            cap_gib=job.settings["memory_cap_gib"],
            environ=_environ(job, cache, random.Random(seed)),
            folder=folder,
            cwd=REPOSITORY,
            cpus=device.cores(job.device),
        )
        self._job, self._started = job, datetime.now(UTC)
        self.allow(patience * job.settings["timeout_s"])

    def record(self) -> dict:
        """Wait for the end of the process and return its record, whatever its fate."""
        report, events, environment = self.end(), read_events(self.folder), self._python.parents[1].name
        result_status, detail = status(report, events, environment)
        return {
            **_record(self._job, result_status, detail, self._started),
            "wall_s": report.wall_s,
            "peak_rss_bytes": report.peak_rss_bytes,
            "memory": report.memory,
            "log_tail": launch.portable_log(self.folder / "log.txt", self._python, result_status == "ok"),
            "events": events,
            "environment": environment,
            "repeated": True,
            "values": _judged(self._job, self.folder),
        }


def supervise(job: Any, python: Path, folder: Path, child_module: str = CELL) -> dict:
    """Run one process alone and return its record; see `MeasuredProcess`. A module without commands just runs."""
    with MeasuredProcess(job, python, folder, child_module) as process:
        with suppress(Failed):
            process.ask("run")
        return process.record()


def _environ(job: Any, cache: Path, rng: random.Random) -> dict[str, str]:
    return {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "XDG_CACHE_HOME": str(cache),
        "TMPDIR": str(cache),
        "CUDA_CACHE_PATH": str(cache),
        "TF_CPP_MIN_LOG_LEVEL": "1",
        # The size of the environment moves the stack, and with it the speed of a process
        # (Mytkowicz et al., ASPLOS 2009), and hashes order sets: at random, so that it is noise and no bias.
        "STACKWARS_PADDING": "x" * rng.randrange(PADDING),
        "PYTHONHASHSEED": str(rng.randrange(2**32)),
        **device.variables(job.device),
    }


def _record(job: Any, status_: str, detail: str, started: datetime) -> dict:
    """Return the fields that every result has, measured or not."""
    left_out = ("partner", "expected", "check", "writes_files")
    return {
        "status": status_,
        "status_detail": detail,
        **{key: value for key, value in asdict(job).items() if key not in left_out},
        "started_utc": started.isoformat(timespec="seconds"),
        "started_s": started.timestamp(),
        "memory_cap_bytes": limits.cap_bytes(job.settings["memory_cap_gib"]),
        "machine": machine.record(),
        "source": machine.revision(),
    }


def main() -> None:
    """`python -m stackwars.measure.supervisor`: run one process, into one folder.

    --child: the module to run, which has the class of its jobs as JOB.
    """
    a = documents.parse_arguments(main.__doc__, "job", "pins", "output", child={"default": CELL})
    job_class = ProcessJob if a.child == CELL else import_module(a.child).JOB
    run(documents.read_job(job_class, a.job), a.pins, a.output, a.child)


def run(job: Any, pins: Path, output: Path, child_module: str = CELL) -> None:
    """Supervise one process in the environment of the pins, alone on this machine; write `output`."""
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_name(output.name + ".part")
    python, result = python_of(job, pins)
    if result is None:
        progress.announce(job)
        with exclusive(job.settings):
            nodes.ensure_peak(job.device, output)
            result = supervise(job, python, part, child_module)
    else:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
    shutil.rmtree(part / "cache", ignore_errors=True)
    documents.write(part / "process.json", result)
    shutil.rmtree(output, ignore_errors=True)
    part.rename(output)
    progress.report(result)


class Environment(NamedTuple):
    """The Python that a job runs in, or the record of a process that cannot be measured here."""

    python: Path
    refused: dict | None = None


def python_of(job: Any, pins: Path) -> Environment:
    """Return the environment of a job."""
    # The device first: its environment may be a download of gigabytes.
    if absent := device.why_absent(job.device):
        return Environment(Path(), not_measured(job, "not run", absent))
    try:
        return Environment(ensure(pins))
    except Unavailable as error:
        return Environment(Path(), {**not_measured(job, "unsupported", str(error)), "repeated": True})


@contextmanager
def exclusive(settings: dict) -> Iterator[None]:
    """Lock this machine while something is measured: two measurements at once would disturb each other."""
    (REPOSITORY / "results").mkdir(exist_ok=True)
    with nodes.lock().open("w") as lock:
        if not settings.get("side_by_side"):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _judged(job: Any, folder: Path) -> dict | None:
    """Return the verdict on the outputs in a process's folder and delete them; None without outputs."""
    outputs = folder / judge.OUTPUTS
    if not outputs.exists():
        return None
    with np.load(outputs) as values:
        verdict = judge.judge(values, judge.read(Path(job.expected)))
    outputs.unlink()
    return verdict


def not_measured(job: Any, status_: str, why: str) -> dict:
    """Return the result of a process that was not measured."""
    nothing = {"wall_s": 0.0, "peak_rss_bytes": 0, "events": [], "repeated": False}
    return _record(job, status_, why, datetime.now(UTC)) | nothing


if __name__ == "__main__":
    main()
