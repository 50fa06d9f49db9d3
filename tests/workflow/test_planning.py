"""A user's first command changes nothing."""

import hashlib
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
OWN = (".snakemake/iocache", ".snakemake/log")
"""What Snakemake keeps for itself: a cache of dates, and its logs."""
PLAN = [sys.executable, "-m", "stackwars.study.workflow.plan", "--preset", "smoke"]


def state(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the date and the content of every file, but for Python's and Snakemake's caches."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "__pycache__" not in name and not name.startswith(OWN):
            found[name] = (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
    return found


def test_planning_changes_no_file_no_date_and_no_lock(checkout):
    """`make plan` starts a dry run; here with a damaged result, and a lock that a killed run left."""
    cell = checkout.folder / "results/smoke/cpu/jax/gemm/cell.json"
    cell.parent.mkdir(parents=True)
    cell.write_text('{"status": ')
    lock = checkout.folder / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    before = state(checkout.folder)
    done = checkout.shell(PLAN, PYTHONPATH="src")
    assert done.returncode == 0 and "cells and replays to measure" in done.stdout, done.stdout
    assert state(checkout.folder) == before
