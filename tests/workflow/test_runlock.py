"""One run at a time, and no trouble from one that was killed."""

import os
import subprocess
import sys
import time

import pytest

from stackwars.core.launch import RUNNER, clean_environ
from stackwars.workflow import start as starting

HOLD = "from stackwars.workflow import start; held = start.take_lock(); print(held is not None, flush=True);"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder to run in."""
    monkeypatch.chdir(tmp_path)


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


def test_lock_is_taken_once_and_free_again_after_its_run(other_run):
    other = other_run("input()")
    assert starting.take_lock() is None
    other.kill()
    other.wait()
    again = starting.take_lock()
    assert again is not None
    again.close()


def test_child_that_outlives_its_run_does_not_hold_the_lock(other_run):
    code = "import subprocess; p = subprocess.Popen(['sleep', '30']); print(p.pid, flush=True); input()"
    process = other_run(code)
    child = process.stdout.readline().strip()
    process.kill()
    process.wait()
    held = starting.take_lock()
    subprocess.run(["kill", child], check=True)
    assert held is not None
    held.close()


@pytest.fixture
def start(tmp_path):
    """A function that starts a process that sleeps in a folder and says it was started by a run."""
    started = []

    def sleeper(folder, runner: int | None) -> subprocess.Popen:
        folder.mkdir(parents=True, exist_ok=True)
        environ = {key: value for key, value in os.environ.items() if key != RUNNER}
        said = {} if runner is None else {RUNNER: str(runner)}
        command = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]
        process = subprocess.Popen(command, cwd=folder, env=environ | said, stdout=subprocess.PIPE, text=True)
        started.append(process)
        process.stdout.readline()
        return process

    yield sleeper
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_processes_of_a_run_that_is_gone_are_ended(tmp_path, start, gone):
    left = [start(tmp_path, gone), start(tmp_path / "results" / "latex", gone)]
    begun = time.monotonic()
    assert starting.end_orphans(tmp_path) == 2
    assert time.monotonic() - begun < starting.WAIT_S
    assert all(process.wait(5) < 0 for process in left)
    assert starting.orphans(tmp_path) == []


def test_others_stay(tmp_path, start, gone):
    start(tmp_path, os.getpid())  # of a run that is at work
    start(tmp_path, None)  # of no run
    start(tmp_path / "here" / "elsewhere", gone)
    assert starting.end_orphans(tmp_path / "here" / "else") == 0
