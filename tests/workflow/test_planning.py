"""A user's first commands change nothing."""

import hashlib
import sys
from pathlib import Path

import pytest

import study

pytestmark = pytest.mark.slow
OWN = (".snakemake/iocache", ".snakemake/log")
"""What Snakemake keeps for itself: a cache of dates, and the log of a --summary."""
LOOK = [*study.SNAKEMAKE, "--quiet", "host", "--config", "preset=smoke"]
PLAN = [sys.executable, "-m", "stackwars.study.workflow.plan", "--preset", "smoke"]


def state(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the date and the content of every file and folder, but for Python's and Snakemake's caches."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if name != ".snakemake" and "__pycache__" not in name and not name.startswith(OWN):
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[name] = (path.stat().st_mtime_ns, content)
    return found


def test_looking_and_planning_change_no_file_no_date_and_no_lock(checkout):
    """With a damaged result, and a lock that a killed run left."""
    checkout.snakemake("-n", "results/smoke/cpu/jax/gemm/cell.json", "--config", "preset=smoke")
    cell = checkout.folder / "results/smoke/cpu/jax/gemm/cell.json"
    cell.parent.mkdir(parents=True)
    cell.write_text('{"status": ')
    (checkout.folder / ".snakemake/locks").mkdir(exist_ok=True)
    (checkout.folder / ".snakemake/locks/0.output.lock").touch()
    for command in ([*LOOK, "-n"], [*LOOK, "--summary"], PLAN):
        before = state(checkout.folder)
        done = checkout.shell(command, PYTHONPATH="src")
        assert done.returncode == 0, done.stdout
        after = state(checkout.folder)
        assert {name for name in before | after if before.get(name) != after.get(name)} == set(), command
