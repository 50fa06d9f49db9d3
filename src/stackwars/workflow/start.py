"""What is done before a run measures anything, and what is said at its end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from stackwars.measure import nodes, progress
from stackwars.setup import tex
from stackwars.workflow import damage, dates, orphans, plan, runlock
from stackwars.workflow.grid import Grid

MADE = ("paper.pdf", "report.html")
"""What a run makes beside its results."""
_TIMED = ("process", "replay_process")
_held: list[TextIO] = []
"""The run's lock, for as long as this process lives."""
_planned: set[str] = set()
"""Names of the rules whose jobs this run has."""


def look_over(grid: Grid) -> None:
    """Set damaged results aside before jobs are planned.

    Raises WorkflowError for a damaged reference, and for results that cannot be written or lie elsewhere.
    """
    _refuse_links(Path(grid.root))
    try:
        # Where another run is at work, the locks are its own, and what looks damaged may be half-written.
        if runlock.clear_stale():
            _mend(grid)
    except OSError as error:
        raise WorkflowError(
            f"results: expected a folder that can be written; came {error}. Make it writable (chmod -R u+w "
            "results, or mount it so), and give the same command again: what was measured is kept."
        ) from None
    if not grid.is_measured:
        for path, problem in damage.find(Path(grid.measured)).items():
            raise WorkflowError(
                f"{path}: {problem}; get it back with: git checkout {grid.measured}"
            )


def _mend(grid: Grid) -> None:
    if aside := damage.set_aside(Path(grid.root)):
        logger.warning("\n".join(aside))
    if ahead := dates.mend({Path(grid.root), Path(grid.out)}, map(Path, MADE)):
        logger.warning(
            f"{ahead} results were dated ahead of the clock, which was set back since: they are dated now, in "
            "their order"
        )


def _refuse_links(root: Path) -> None:
    """A result that lies elsewhere may be another run's, and would be written over there."""
    for path in damage.links(root):
        raise WorkflowError(
            f"{path}: expected a file or folder of the results; came a symbolic link to {path.readlink()}. "
            "Move what it points to into its place, or remove the link and it is measured again; the folder "
            "results itself may be a link."
        )


def prepare(workflow: Any) -> None:
    """Before any job: refuse a second run, end what a killed one left, find out that TeX is missing, tell
    the cells their count.

    workflow: Snakemake's, whose jobs are planned. Raises WorkflowError.
    """
    lock = runlock.take()
    if lock is None:
        raise WorkflowError(runlock.TAKEN)
    _held.append(lock)
    nodes.forget()
    if left := orphans.end(Path.cwd()):
        logger.warning(f"ended {left} processes that a killed run had left behind")
    # Snakemake's limit on jobs per second starts a timer chain with every job. After fifty jobs they
    # took 13 % of a core, from the cells that are being measured. A run on one machine needs no limit.
    workflow.scheduler.job_rate_limiter = None
    jobs = list(workflow.dag.needrun_jobs())
    names = {job.name for job in jobs}
    _planned.update(names)
    lacking = tex.missing(typeset="typeset" in names, draw="compiler_figures" in names)
    if lacking:
        raise WorkflowError(tex.explain(lacking))
    outputs = [str(job.output[0]) for job in jobs if job.name in _TIMED]
    progress.start(plan.expected_process_s(outputs))


def tell(grid: Grid) -> None:
    """At the end of a run that made the paper: what of the reference it has found again."""
    text = Path(*grid.made("reproduction_text"))
    if "typeset" in _planned and text.exists():
        print(f"\n{text.read_text()}", file=sys.stderr, end="", flush=True)
