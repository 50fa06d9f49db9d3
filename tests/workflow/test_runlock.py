"""A killed run holds no lock, whatever it left running; test_failures.py has two runs at once."""

import subprocess
import sys

from stackwars.core.launch import clean_environ
from stackwars.study.workflow import start

HOLD = """
import subprocess
from stackwars.study.workflow import start
held = start.take_lock()
print(subprocess.Popen(["sleep", "30"]).pid, flush=True)
input()
"""


def test_child_that_outlives_its_run_does_not_hold_the_lock(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLD], env=clean_environ({}), text=True, **pipes) as run:
        child = run.stdout.readline().strip()
        assert start.take_lock() is None
        run.kill()
        run.wait()
        held = start.take_lock()
        subprocess.run(["kill", child], check=True)
    assert held is not None
    held.close()
