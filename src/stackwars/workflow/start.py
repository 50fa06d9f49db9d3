"""The checks before a run measures anything, and the summary at its end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from stackwars.measure import nodes, progress
from stackwars.results import runs
from stackwars.setup import tools
from stackwars.workflow import damage, dates, orphans, plan, runlock
from stackwars.workflow.grid import REFERENCE, REFERENCE_TABLES, Grid

MADE = ("paper.pdf", "report.html")
"""What a run makes beside its results."""
_TIMED = ("process", "replay_process")
_held: list[TextIO] = []
"""The run's lock, for as long as this process lives."""
_planned: set[str] = set()
"""Names of the rules whose jobs this run has."""


def check_results(grid: Grid) -> None:
    """Set damaged results aside, before jobs are planned.

    :raises WorkflowError: for a damaged reference, and for results that cannot be written or lie elsewhere.
    """
    _refuse_links(Path(grid.root))
    try:
        # Another run that is using this folder holds the locks, and what looks damaged may be half-written.
        if runlock.clear_stale():
            _fix(grid)
    except OSError as error:
        raise WorkflowError(
            f"results: expected a folder that can be written, got {error}; fix: make it writable (chmod -R u+w "
            "results, or mount it so), and give the same command again: what was measured is kept"
        ) from None
    try:
        runs.read(Path(REFERENCE))
    except runs.DamagedRunError as error:
        raise WorkflowError(str(error)) from None
    if not grid.is_measured:
        for path, problem in damage.find(Path(REFERENCE)).items():
            raise WorkflowError(f"{path}: {problem}; fix: git checkout {REFERENCE}")


def _fix(grid: Grid) -> None:
    if aside := damage.set_aside(Path(grid.root)):
        logger.warning("\n".join(aside))
    folders = {Path(grid.root), Path(grid.out), Path(REFERENCE_TABLES)}
    if ahead := dates.fix_future(folders, map(Path, MADE)):
        logger.warning(
            f"{ahead} results were dated ahead of the clock, which was set back since: they are dated now, in "
            "their order"
        )


def _refuse_links(root: Path) -> None:
    """Refuse links: a result that lies elsewhere may be another run's, and would be overwritten there."""
    for path in damage.links(root):
        raise WorkflowError(
            f"{path}: expected a file or folder of the results, got a symbolic link to {path.readlink()}; "
            "fix: move what it points to into its place, or remove the link and it is measured again; the "
            "folder results itself may be a link"
        )


def prepare(workflow: Any) -> None:
    """Refuse a second run and a missing TeX, end what a killed run left, and announce the number of jobs.

    workflow: Snakemake's, whose jobs are planned.
    :raises WorkflowError: saying what is missing.
    """
    lock = runlock.take()
    if lock is None:
        raise WorkflowError(runlock.TAKEN)
    _held.append(lock)
    nodes.prune()
    if left := orphans.end(Path.cwd()):
        logger.warning(f"ended {left} processes that a killed run had left behind")
    # Snakemake's limit on jobs per second starts a timer chain with every job. After fifty jobs they
    # took 13 % of a core, from the cells that are being measured. A run on one machine needs no limit.
    workflow.scheduler.job_rate_limiter = None
    jobs = list(workflow.dag.needrun_jobs())
    names = {job.name for job in jobs}
    _planned.update(names)
    lacking = tools.missing_for_paper(typeset="typeset" in names, draw="compiler_figures" in names)
    if lacking:
        raise WorkflowError(tools.explain_missing_for_paper(lacking))
    outputs = [str(job.output[0]) for job in jobs if job.name in _TIMED]
    progress.start(plan.expected_process_s(outputs))


def print_summary(grid: Grid) -> None:
    """Print which results of the reference a run reproduces, at the end of one that made the paper."""
    text = Path(*grid.result_paths("reproduction_text"))
    if "typeset" in _planned and text.exists():
        print(f"\n{text.read_text()}", file=sys.stderr, end="", flush=True)
