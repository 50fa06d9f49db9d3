"""Prepare a run before its first job, and summarise it after its last.

Reading the rules writes nothing, so that a dry run, --lint and --summary change no file. All of this is done once it
is certain that jobs run.

Snakemake's own lock is a set of files, which outlive a process that is killed; the default profile turns it off. The
one here is held by the process itself. A killed run also leaves jobs that would write the same files as those of the
next run: cells and compilations end with their run (`stackwars.core.launch`), TeX and the steps between do not.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from stackwars.core import limits
from stackwars.core.launch import RUNNER
from stackwars.results import runs
from stackwars.setup import environments, tools
from stackwars.study import cells
from stackwars.workflow import damage, faults, job_files
from stackwars.workflow.grid import REFERENCE, Grid
from stackwars.workflow.terminal import WIDTH

LOCK = Path("results", ".run.lock")
TAKEN = "another run is already using this folder; fix: wait for it, or end it"
LAZY = "device"
"""The rule whose jobs build the environments of their pins themselves, because most devices are absent."""
PINS = Path("envs")
WAIT_S = 5.0
_held: list[TextIO] = []
"""The run's lock, for as long as this process lives."""


def prepare(grid: Grid, workflow: Any) -> None:
    """Refuse a second run, bad results and a missing TeX, and end what a killed run left.

    workflow: Snakemake's, whose jobs are planned. If damaged results were moved aside, the plan does not have the jobs
    that make them again: then the same command starts over in this process.

    :raises WorkflowError: saying what is wrong.
    """
    if workflow.touch:
        return
    _check_writable(grid)
    lock = take_lock()
    if lock is None:
        raise WorkflowError(TAKEN)
    _held.append(lock)
    if ended := end_orphans(Path.cwd()):
        logger.warning(f"ended {ended} processes that a killed run had left behind")
    if check_results(grid):
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    job_files.write_planned()
    # Snakemake's limit on jobs per second starts a timer chain with every job. After fifty jobs they took 13 % of a
    # core, from the cells that are being measured, and no option turns it off.
    workflow.scheduler.job_rate_limiter = None
    names = {job.name for job in workflow.dag.needrun_jobs()}
    build_environments(workflow.dag.needrun_jobs())
    lacking = tools.missing_for_paper(typeset="typeset" in names, draw="compiler_figures" in names)
    if lacking:
        raise WorkflowError(tools.explain_missing_for_paper(lacking))


def _check_writable(grid: Grid) -> None:
    for folder in dict.fromkeys(("results", grid.root, grid.out, f"{grid.root}/logs")):
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise WorkflowError(
                f"results: expected a folder that can be written, got {folder}: {error.strerror}; fix: make it "
                "writable (chmod -R u+w results, or mount it so), and run the same command again: what was "
                "measured is kept"
            ) from None


def build_environments(jobs: Iterable[Any]) -> None:
    """Build what these jobs run in, before the first of them: no build stands between measurements.

    :raises WorkflowError: if one cannot be built, saying why.
    """
    pins = {
        Path(file)
        for job in jobs
        if job.rule.name != LAZY
        for file in job.input
        if Path(file).parent == PINS and Path(file).suffix == ".txt"
    }
    try:
        environments.ensure_all(sorted(pins))
    except environments.BuildError as error:
        raise WorkflowError(str(error)) from None


def check_results(grid: Grid) -> bool:
    """Move damaged results aside; return whether there were any.

    :raises WorkflowError: for a damaged reference, and for results that lie elsewhere.
    """
    root = Path(grid.root)
    for path in damage.links(root):
        # A result that lies elsewhere may be another run's, and would be overwritten there.
        raise WorkflowError(
            f"{path}: expected a file or folder of the results, got a symbolic link to {path.readlink()}; "
            "fix: move what it points to into its place, or remove the link and it is measured again; the "
            "folder results itself may be a link"
        )
    _check_reference(grid)
    if quarantined := damage.quarantine(root):
        logger.warning("\n".join(quarantined))
    return bool(quarantined)


def _check_reference(grid: Grid) -> None:
    try:
        runs.read(Path(REFERENCE))
    except runs.DamagedRunError as error:
        raise WorkflowError(str(error)) from None
    if not grid.is_measured:
        for path, problem in damage.find(Path(REFERENCE)).items():
            raise WorkflowError(f"{path}: {problem}; fix: git checkout {REFERENCE}")


def print_faults(grid: Grid, workflow: Any) -> None:
    """Print the programs of a run that are wrong, crashed, did not end or ran outside their compiler, and what was
    measured beside other programs.
    """
    if workflow.touch or not grid.is_measured or is_explaining(workflow):
        return
    if text := faults.table(faults.collect(grid.config, Path(grid.root)), *grid.result_paths("values")):
        print(f"\n{text}", file=sys.stderr, flush=True)
    side_by_side = cells.settings(grid.config).get("side_by_side")
    if not side_by_side and (text := damage.disturbed_text(Path(grid.root))):
        print(f"\n{textwrap.fill(text, WIDTH, break_on_hyphens=False)}", file=sys.stderr, flush=True)


def is_explaining(workflow: Any) -> bool:
    """Return whether the run explains a program alone, and so measures nothing of the study."""
    return {job.rule.name for job in workflow.dag.jobs} == {"explain"}


def print_summary(grid: Grid, workflow: Any) -> None:
    """Print which results of the reference a run reproduces, at the end of one that made the paper."""
    text = Path(*grid.result_paths("reproduction_text"))
    names = {job.name for job in workflow.dag.needrun_jobs()}
    if "typeset" in names and not workflow.touch and text.exists():
        print(f"\n{text.read_text()}", file=sys.stderr, end="", flush=True)


def take_lock() -> TextIO | None:
    """Return the lock, held for as long as this file stays open; None if another run has it.

    :raises OSError: if the folder of results cannot be written.
    """
    LOCK.parent.mkdir(exist_ok=True)
    file = LOCK.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def orphans(folder: Path) -> list[int]:
    """Return the processes at work in this folder or below that a run which has ended started."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [pid for pid in pids if pid != os.getpid() and _is_orphan(pid, folder.resolve())]


def end_orphans(folder: Path) -> int:
    """Kill them, wait until they are gone and return their number. For a run that holds the lock."""
    left = orphans(folder)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + WAIT_S
    while any(map(limits.alive, left)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return len(left)


def _is_orphan(pid: int, folder: Path) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        working = Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return False  # it has ended, or is another user's
    name = f"{RUNNER}=".encode()
    runner = next((v[len(name) :] for v in variables if v.startswith(name)), b"")
    is_below = working == folder or folder in working.parents
    return is_below and runner.isdigit() and not limits.alive(int(runner))
