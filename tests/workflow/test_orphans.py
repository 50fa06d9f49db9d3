"""What a killed run left is ended before the next one, and nothing else is."""

import os
import subprocess
import sys
import time

import pytest

from stackwars.measure.launch import RUNNER
from stackwars.workflow import orphans


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
    assert orphans.end(tmp_path) == 2
    assert time.monotonic() - begun < orphans.WAIT_S
    assert all(process.wait(5) < 0 for process in left)
    assert orphans.find(tmp_path) == []


def test_others_stay(tmp_path, start, gone):
    start(tmp_path, os.getpid())  # of a run that is at work
    start(tmp_path, None)  # of no run
    start(tmp_path / "here" / "elsewhere", gone)
    assert orphans.end(tmp_path / "here" / "else") == 0
