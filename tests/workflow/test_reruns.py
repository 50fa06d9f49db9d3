"""A killed run goes on where it was."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import study


@pytest.mark.slow
@pytest.mark.env
def test_a_killed_run_goes_on_where_it_was(tmp_path, jax_python):
    made = study.make(tmp_path)
    log = tmp_path / "killed.txt"
    environ = {**os.environ, "STACKWARS_FAKE_ours_layernorm": "slow", "STACKWARS_FAKE_theirs_layernorm": "slow"}
    with log.open("w") as file:
        running = subprocess.Popen(
            made.command("paper.pdf"), cwd=tmp_path, env=environ, stdout=file, stderr=file
        )
    deadline = time.monotonic() + 120
    waiting = tmp_path / "results/full/logs/cpu"
    while not any(path.stat().st_size for path in waiting.glob("*/layernorm/cell.txt")):
        assert time.monotonic() < deadline and running.poll() is None, log.read_text()
        time.sleep(0.05)
    rounds = tmp_path / "results/full/cpu"
    while not (had := list(rounds.glob("*/layernorm/rounds/0/round.json"))):
        assert time.monotonic() < deadline and running.poll() is None, log.read_text()
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    first, began = study.jobs(log.read_text()), {path: _began(path) for path in had}
    finished = {path: path.read_bytes() for path in made.folder.glob("results/full/**/cell.json")}

    # The child dies with its workflow: nothing goes on measuring beside the next run.
    time.sleep(2)
    assert not [p for p in _commands() if str(tmp_path) in p]

    ran = made.run(study.CELLS)
    assert first.get("cell", 0) + ran["cell"] == 4, "no finished cell is measured twice"
    assert all(path.read_bytes() == content for path, content in finished.items())
    for path, when in began.items():
        cell = json.loads((path.parents[2] / "cell.json").read_text())
        assert cell["processes"][0]["started_s"] == when, "nor is a finished round"
    assert (made.frame()["status"] == "ok").all()


def _began(path: Path) -> float:
    return json.loads(path.read_text())["subject"]["started_s"]


def _commands() -> list[str]:
    done = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "stackwars.measure.child" in line]
