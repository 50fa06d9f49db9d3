"""One run at a time; a killed run holds no lock."""

import subprocess
import sys

import pytest

from stackwars.core.launch import clean_environ
from stackwars.study.workflow import start as starting

HOLD = (
    "from stackwars.study.workflow import start; held = start.take_lock(); print(held is not None, flush=True);"
)


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
