"""What happens before a run's first job, and the summary after its last.

Reading the rules writes nothing, so that a dry run, --lint and --summary change no file. All of this is done once it
is certain that jobs run.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any, TextIO

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from stackwars.measure import nodes
from stackwars.results import runs
from stackwars.setup import tools
from stackwars.workflow import damage, job_files, runlock
from stackwars.workflow.grid import REFERENCE, REFERENCE_TABLES, Grid

MADE = ("paper.pdf", "report.html")
"""What a run makes beside its results."""
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
    lock = runlock.take()
    if lock is None:
        raise WorkflowError(runlock.TAKEN)
    _held.append(lock)
    if ended := runlock.end_orphans(Path.cwd()):
        logger.warning(f"ended {ended} processes that a killed run had left behind")
    if check_results(grid):
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    job_files.write_planned()
    nodes.prune()
    # Snakemake's limit on jobs per second starts a timer chain with every job. After fifty jobs they took 13 % of a
    # core, from the cells that are being measured, and no option turns it off.
    workflow.scheduler.job_rate_limiter = None
    names = {job.name for job in workflow.dag.needrun_jobs()}
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


def check_results(grid: Grid) -> bool:
    """Move damaged results aside and date those of the future now; return whether anything changed.

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
    folders = {root, Path(grid.out), Path(REFERENCE_TABLES)}
    if future := damage.fix_future_mtimes(folders, map(Path, MADE)):
        logger.warning(
            f"{future} results were dated ahead of the clock, which was set back since: they are dated now, in "
            "their order"
        )
    return bool(quarantined or future)


def _check_reference(grid: Grid) -> None:
    try:
        runs.read(Path(REFERENCE))
    except runs.DamagedRunError as error:
        raise WorkflowError(str(error)) from None
    if not grid.is_measured:
        for path, problem in damage.find(Path(REFERENCE)).items():
            raise WorkflowError(f"{path}: {problem}; fix: git checkout {REFERENCE}")


def print_summary(grid: Grid, workflow: Any) -> None:
    """Print which results of the reference a run reproduces, at the end of one that made the paper."""
    text = Path(*grid.result_paths("reproduction_text"))
    names = {job.name for job in workflow.dag.needrun_jobs()}
    if "typeset" in names and not workflow.touch and text.exists():
        print(f"\n{text.read_text()}", file=sys.stderr, end="", flush=True)
