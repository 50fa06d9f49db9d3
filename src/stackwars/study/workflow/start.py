"""Prepare a run before its first job, and summarise it after its last.

Reading the rules writes nothing, so that a dry run, --lint and --summary change no file. All of this is done once it
is certain that jobs run.

Snakemake's own lock is a set of files, which outlive a process that is killed; the default profile turns it off. The
one here is held by the process itself.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from snakemake.exceptions import WorkflowError

from stackwars.core.lines import fold, wrote
from stackwars.setup import environments, preflight
from stackwars.setup.device import CPU, why_absent
from stackwars.study import cells
from stackwars.study.config import ConfigError, read
from stackwars.study.results import programs, runs, schema
from stackwars.study.workflow import damage, job_files, plan
from stackwars.study.workflow.grid import REFERENCE, Grid

LOCK = Path("results", ".run.lock")
TAKEN = (
    "expected one run at a time, got two: another run is already using this folder; fix: wait for it, or end it"
)
LAZY = "device"
"""The rule whose jobs build the environments of their pins themselves, because most devices are absent."""
_held: list[TextIO] = []
"""The run's lock, for as long as this process lives."""


def check_files(*files: Path | str) -> None:
    """Refuse a read-only checkout and unreadable YAML before Snakemake does, whose error is a stack without a name.

    :raises WorkflowError: naming the folder, or the file and its line.
    """
    if not os.access(".", os.W_OK):
        raise WorkflowError(
            f"{Path.cwd()}: expected a folder that can be written, got a read-only one; fix: mount or copy it so"
        )
    try:
        for path in filter(Path.exists, map(Path, files)):
            read(path)
    except ConfigError as error:
        raise WorkflowError(str(error)) from None


def prepare(grid: Grid, workflow: Any) -> None:
    """Refuse a second run, bad results and a missing TeX, and build the environments.

    workflow: Snakemake's, whose jobs are planned.

    :raises WorkflowError: saying what is wrong.
    """
    if workflow.touch:
        return
    _check_writable(grid)
    lock = take_lock()
    if lock is None:
        raise WorkflowError(TAKEN)
    _held.append(lock)
    planned = list(workflow.dag.needrun_jobs())
    if grid.is_measured and grid.config.minutes:
        plan.announce(grid.config)
    check_results(grid, {Path(file) for job in planned for file in job.output})
    job_files.write_planned()
    # Snakemake's limit on jobs per second starts a timer chain with every job. After fifty jobs they took 13 % of a
    # core, from the cells that are being measured, and no option turns it off.
    workflow.scheduler.job_rate_limiter = None
    names = {job.name for job in planned}
    if workflow.local_exec:  # a node of a cluster may have what is missing here
        check_devices(planned)
    build_environments(planned)
    if lacking := preflight.check_tex("typeset" in names, "compiler_figures" in names):
        raise WorkflowError(preflight.explain([lacking]))


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


def check_devices(jobs: Iterable[Any]) -> None:
    """Refuse jobs for a device that this machine does not have, before their environments (several GB) are built.

    :raises WorkflowError: naming the first result and why there is no device.
    """
    for job in jobs:
        device = getattr(job.wildcards, "device", CPU)
        if job.rule.name != LAZY and (why := why_absent(device)):
            raise WorkflowError(
                f"{job.output[0]}: expected a machine with the device {device}, got {why}; "
                "fix: give the same command on such a machine"
            )


def build_environments(jobs: Iterable[Any]) -> None:
    """Build the environments of these jobs before the first of them: no build stands between measurements.

    :raises WorkflowError: if one cannot be built, saying why.
    """
    pins = {
        Path(file)
        for job in jobs
        if job.rule.name != LAZY
        for file in job.input
        if Path(file).parent == Path("envs") and Path(file).suffix == ".txt"
    }
    try:
        environments.ensure_all(sorted(pins))
    except environments.BuildError as error:
        raise WorkflowError(str(error)) from None


def check_results(grid: Grid, planned: set[Path]) -> None:
    """Refuse damaged results, except those that this run makes again: a killed job leaves such files.

    planned: the files that this run makes.

    :raises WorkflowError: naming a damaged result, or an accepted run that was changed.
    """
    root = Path(grid.root)
    for path, problem in damage.find(root).items():
        if planned.isdisjoint({path, *path.parents}):
            raise WorkflowError(
                f"{path}: expected a whole result, got {problem}; fix: move its folder to {root / damage.ASIDE}, and "
                "the same command makes it again"
            )
    try:
        runs.read(Path(REFERENCE))
    except runs.DamagedRunError as error:
        raise WorkflowError(str(error)) from None
    if not grid.is_measured:
        for path, problem in damage.find(Path(REFERENCE)).items():
            raise WorkflowError(f"{path}: {problem}; fix: git checkout {REFERENCE}")


def print_faults(grid: Grid, workflow: Any) -> None:
    """Print how many programs and cells are wrong, crashed or did not end, and how many were measured while other
    programs ran.
    """
    if workflow.touch or not grid.is_measured:
        return
    rules = {job.rule.name for job in workflow.dag.jobs}
    if rules and rules <= {"radar", "radar_program"}:  # they measure nothing of the study
        return
    statuses = []
    for path in map(Path, grid.result_paths("values", "cells")):
        rows = schema.read(path).to_dict("records") if path.exists() else []
        statuses += [row["status"] for row in rows if programs.is_fault(row, "timeout")]
    lines = []
    if statuses:
        counts = ", ".join(f"{number} {status}" for status, number in Counter(statuses).items())
        lines.append(
            f"faulty programs and cells: {counts}; see {', '.join(grid.result_paths('values', 'cells'))}"
        )
    if not cells.settings(grid.config).side_by_side:
        lines.append(damage.disturbed_text(Path(grid.root)))
    for line in filter(None, lines):
        print(f"\n{fold(line, indent='')}", file=sys.stderr, flush=True)


def print_summary(grid: Grid, workflow: Any) -> None:
    """Print what a finished run says of the claims and of the reference, then what it wrote and where to look."""
    if workflow.touch:
        return
    rules = {job.name for job in workflow.dag.finished_jobs}
    text = Path(*grid.result_paths("reproduction_text"))
    lines = text.read_text().splitlines() if rules & {"typeset", "results"} and text.exists() else []
    [tables] = grid.result_paths("comparisons")
    written = {
        "typeset": ("paper.pdf", "the answer on page 1, and the box that says what this build shows"),
        "report": ("report.html", "a row for each workload leads to who is slower, by how much, and why"),
        "results": (tables, "every ratio with its interval and verdict; the other tables are beside it"),
        "audit_report": (f"{grid.root}/audits.json", "which audits failed, as page 1 of the next paper says"),
        "radar": (
            "results/radar/radar.md",
            "what new releases change, and the draft of a report for each fault",
        ),
    }
    lines += [wrote(*file) for rule, file in written.items() if rule in rules]
    if lines:
        print("\n" + fold("\n".join(lines), indent="    "), file=sys.stderr, flush=True)


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
