"""The output of a user's first commands, which change nothing."""

import hashlib
import sys
from pathlib import Path

import pytest

import study

pytestmark = pytest.mark.slow
OWN = (".snakemake/iocache", ".snakemake/log")
"""What Snakemake keeps for itself: a cache of dates, and the log of a --summary."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study with a damaged result and a lock that a killed run left."""
    made = study.make(tmp_path_factory.mktemp("planning"), ("gemm",))
    made.snakemake("-n")
    cell = made.cell("ours", "gemm")
    cell.mkdir(parents=True)
    (cell / "cell.json").write_text('{"status": ')
    (made.folder / ".snakemake/locks").mkdir(exist_ok=True)
    (made.folder / ".snakemake/locks/0.output.lock").touch()
    return made


def state(folder: Path) -> dict[str, tuple[int, str]]:
    """The date and the content of every file and folder, but for Python's and Snakemake's caches."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if name != ".snakemake" and "__pycache__" not in name and not name.startswith(OWN):
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[name] = (path.stat().st_mtime_ns, content)
    return found


def changed_by(made: study.Study, command: list[str]) -> set[str]:
    """Return the files and folders that a command changes, makes or deletes."""
    before = state(made.folder)
    done = made.shell(command, PYTHONPATH="src")
    assert done.returncode == 0, done.stdout
    after = state(made.folder)
    return {name for name in before | after if before.get(name) != after.get(name)}


@pytest.mark.parametrize("look", ["-n", "--summary"])
def test_looking_changes_no_file_no_date_and_no_lock(made, look):
    assert changed_by(made, made.command(look)) == set()


def test_linting_changes_nothing_either(made):
    assert changed_by(made, [sys.executable, "-m", "stackwars.study.workflow.lint"]) == set()


def test_a_plan_changes_nothing_either(checkout):
    checkout.snakemake("-n", "results/smoke/cpu/jax/gemm/cell.json", "--config", "preset=smoke")
    plan = [sys.executable, "-m", "stackwars.study.workflow.plan", "--preset", "smoke"]
    assert changed_by(checkout, plan) == set()


def test_a_target_that_nothing_makes_is_refused_in_a_line(made):
    target = "results/full/ahead/tpu-v6e/jaxlib-0.10.2/jax/gemm/b0/ahead.json"
    done = made.quietly(target)
    assert done.returncode == 1
    assert f"got {target}, which nothing makes" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout
