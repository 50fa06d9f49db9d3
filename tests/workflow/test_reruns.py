"""What is measured again, told from start to end: one study, edited step by step."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import study

MADE_FROM_CELLS = {"tables", "claims", "paper_tables", "cell_figures", "latex", "typeset"}


@pytest.mark.slow
@pytest.mark.env
def test_only_what_an_edit_touches_is_measured_again(tmp_path, jax_python):
    made = study.make(tmp_path)

    # All of it: 2 frameworks x 2 workloads.
    ran = made.run("all")
    assert ran["cell"] == 4
    assert ran["typeset"] == 1
    assert not list(tmp_path.glob("results/full/cpu/**/rounds")), "the rounds are temporary"

    # Run again it does nothing.
    done = made.snakemake()
    assert "Nothing to be done" in done.stdout, done.stdout
    assert study.jobs(done.stdout) == {}

    # One cell's result deleted: that cell, and what is made from it.
    before = (made.cell("theirs", "gemm") / "cell.json").read_bytes()
    (made.cell("ours", "gemm") / "cell.json").unlink()
    planned = study.planned(made.snakemake("-n").stdout)
    assert set(planned) >= MADE_FROM_CELLS
    ran = made.run(study.CELLS, "results/full/cpu/ours/gemm/cell.json")
    assert ran["cell"] == 1
    assert (made.cell("theirs", "gemm") / "cell.json").read_bytes() == before

    # What an edit would have measured again: of the protocol's version, of a framework's pins, of sizes.
    edits = {
        "src/stackwars/measure/__init__.py": lambda text: text.replace("PROTOCOL = ", "PROTOCOL = 1"),
        "envs/theirs.txt": lambda text: f"{text}# changed\n",
        "config/config.yaml": lambda text: text.replace("m: 128", "m: 130"),
    }
    for name, edit in edits.items():
        file = tmp_path / name
        text = file.read_text()
        assert edit(text) != text
        file.write_text(edit(text))
        planned = study.planned(made.snakemake(study.CELLS, "-n").stdout)
        # The cells of ours are measured in the rounds of those of theirs.
        assert planned["cell"] == (2 if name == "config/config.yaml" else 4), name
        file.write_text(text)

    # What the protocol's version stands for measures nothing again by itself.
    for name in ("supervisor", "conduct", "limits", "child", "rounds"):
        study.write(tmp_path / f"src/stackwars/measure/{name}.py", '"""A remark."""\n')
    planned = study.planned(made.snakemake(study.CELLS, "-n").stdout)
    assert not {"cell", "peak", "replay"} & set(planned)

    # An edit of a workload, run.
    study.write(tmp_path / "src/stackwars/workloads/gemm.py", "\nEDITED = True\n")
    ran = made.run(study.CELLS)
    assert ran["cell"] == 2

    # A deleted environment harms nothing; a sentence edited costs no measurement.
    study.write(tmp_path / "paper" / "replication.tex.j2", "One more sentence.\n")
    ran = made.run("all")
    assert "cell" not in ran
    assert "One more sentence." in made.text()


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
