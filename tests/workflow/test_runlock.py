"""One run at a time, and no trouble from one that was killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from stackwars.setup.environments import clean_environ
from stackwars.workflow import runlock

HOLD = "from stackwars.workflow import runlock; held = runlock.take(); print(held is not None, flush=True);"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder to run in, with a lock file of Snakemake's."""
    monkeypatch.chdir(tmp_path)
    runlock.SNAKEMAKE_LOCKS.mkdir(parents=True)
    Path(runlock.SNAKEMAKE_LOCKS, "0.output.lock").touch()


@pytest.fixture
def other_run():
    """A function that starts another process that takes the lock, then runs code."""
    started = []

    def start(code: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD + code], env=clean_environ({}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        assert process.stdout.readline() == "True\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def stale() -> list[str]:
    return [path.name for path in runlock.SNAKEMAKE_LOCKS.iterdir()]


def test_lock_is_taken_once(other_run):
    other_run("input()")
    assert runlock.take() is None


def test_lock_is_free_again_after_its_file_is_closed():
    held = runlock.take()
    assert runlock.take() is None
    held.close()
    again = runlock.take()
    assert again is not None
    again.close()


def test_locks_of_a_run_at_work_stay(other_run):
    other_run("input()")
    runlock.clear_stale()
    assert stale() == ["0.output.lock"]


def test_locks_of_a_killed_run_go(other_run):
    process = other_run("input()")
    process.kill()
    process.wait()
    runlock.clear_stale()
    assert stale() == []


def test_child_that_outlives_its_run_does_not_hold_the_lock(other_run):
    code = "import subprocess; p = subprocess.Popen(['sleep', '30']); print(p.pid, flush=True); input()"
    process = other_run(code)
    child = process.stdout.readline().strip()
    process.kill()
    process.wait()
    held = runlock.take()
    subprocess.run(["kill", child], check=True)
    assert held is not None
    held.close()


def test_only_lock_files_are_removed():
    Path(runlock.SNAKEMAKE_LOCKS, "notes.txt").touch()
    runlock.clear_stale()
    assert stale() == ["notes.txt"]


def test_clearing_leaves_the_lock_free():
    runlock.clear_stale()
    held = runlock.take()
    assert held is not None
    held.close()


def test_folder_without_any_lock(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    runlock.clear_stale()
