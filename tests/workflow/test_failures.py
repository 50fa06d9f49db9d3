"""A study that is killed, goes on, is damaged and fails: what is measured again, and what a user sees of it."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

import study
from checkout import OVERLAY
from running import wait_for
from stackwars.core.launch import REPOSITORY

CELL = "results/full/cpu/{}/gemm/cell.json"
pytestmark = pytest.mark.slow
STACK = ("Traceback", "RuleException", "CalledProcessError", "WorkflowError", "site-packages")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study with a workload that is one file, named by the study alone."""
    made = study.make(tmp_path_factory.mktemp("failures"), ("gemm", "layernorm", "softmax"))
    shutil.copy(
        REPOSITORY / "docs" / "examples" / "softmax.py", made.folder / "src/stackwars/measure/workloads"
    )
    overlay = made.folder / OVERLAY
    config = yaml.safe_load(overlay.read_text())
    del config["workloads"]
    overlay.write_text(yaml.safe_dump(config, sort_keys=False))
    return made


def test_missing_tex_and_graphviz_are_found_before_anything_is_measured(made, tmp_path):
    # A PATH that has everything but them.
    lacking = ("latexmk", "pdflatex", "bibtex", "kpsewhich", "dot")
    for folder in ("/usr/bin", "/bin"):
        for path in Path(folder).iterdir():
            link = tmp_path / path.name
            if path.name not in lacking and not link.exists():
                link.symlink_to(path)
    done = made.snakemake("paper.pdf", PATH=str(tmp_path))
    assert done.returncode != 0
    assert f"TeX and Graphviz: {', '.join(lacking)}" in done.stdout and "apt-get install" in done.stdout
    assert not list((made.folder / "results").rglob("process*.json"))


@pytest.mark.env
def test_a_killed_run_goes_on_where_it_was(made, jax_python):
    log = made.folder / "killed.txt"
    environ = {**os.environ, "STACKWARS_FAKE_ours_layernorm": "slow", "STACKWARS_FAKE_theirs_layernorm": "slow"}
    with log.open("w") as file:
        running = subprocess.Popen(
            made.command(study.CELLS), cwd=made.folder, env=environ, stdout=file, stderr=file
        )

    def files(pattern: str) -> list[Path]:
        assert running.poll() is None, log.read_text()
        return list(made.folder.glob(f"results/full/cpu/*/{pattern}"))

    wait_for(lambda: files("gemm/rounds"), 120)
    second = made.quietly(study.CELLS)
    assert second.returncode == 1 and "another run is already using this folder" in second.stdout
    began = {path: _began(path) for path in wait_for(lambda: files("layernorm/rounds/0/round.json"), 120)}
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    first = study.jobs(log.read_text())
    finished = {path: path.read_bytes() for path in made.folder.glob("results/full/**/cell.json")}

    # The child dies with its workflow: nothing goes on measuring beside the next run.
    time.sleep(2)
    assert not [p for p in _commands() if str(made.folder) in p]

    ran = made.run(study.CELLS)
    # On a busy machine every cell can be finished before the kill.
    assert first.get("cell", 0) + ran.get("cell", 0) == 6, "no finished cell is measured twice"
    assert all(path.read_bytes() == content for path, content in finished.items())
    for path, when in began.items():
        cell = json.loads((path.parents[2] / "cell.json").read_text())
        assert cell["processes"][0]["started_s"] == when, "nor is a finished round"
    assert made.is_measured().all()
    cells = made.frame().xs("softmax", level="workload")
    assert set(cells.index) == {"ours", "theirs"} and set(cells["title"]) == {"Softmax over rows"}


def _began(path: Path) -> float:
    return json.loads(path.read_text())["subject"]["started_s"]


def _commands() -> list[str]:
    done = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "stackwars.measure.child" in line]


@pytest.mark.env
def test_damaged_cell_is_named_left_alone_and_measured_again_once_it_is_moved(made):
    if not (made.folder / study.CELLS).exists():
        made.run(study.CELLS)
    cell = made.folder / CELL.format("ours")
    half = cell.read_text()[:1000]
    cell.write_text(half)
    done = made.quietly(study.CELLS)
    assert done.returncode == 1 and f"{CELL.format('ours')}: expected a whole result" in done.stdout
    assert cell.read_text() == half
    aside = made.folder / "results/full/damaged/gemm"
    aside.parent.mkdir()
    cell.parent.rename(aside)
    done = made.quietly(study.CELLS, CELL.format("ours"))
    assert done.returncode == 0, done.stdout
    assert json.loads(cell.read_text())["status"] == "ok" and (aside / "cell.json").read_text() == half
    assert done.stdout.count("] cell cpu ours gemm") == 1
    assert "theirs gemm" not in done.stdout


@pytest.mark.env
def test_failed_job_is_said_last_with_its_log_and_what_to_do(made):
    study.write(
        made.folder / "src" / "stackwars" / "study/results/tables.py",
        "\n\nraise OSError(28, 'No space left on device', 'cells.csv')\n",
    )
    done = made.quietly(study.CELLS)
    assert done.returncode == 1
    assert not [word for word in STACK[1:] if word in done.stdout], done.stdout
    last = done.stdout.rpartition("\n\n")[2].splitlines()
    assert last[0] == "Failed: results/full/cells.csv and 9 more (rule tables)"
    assert last[1] == "Log: results/full/logs/tables.txt"
    assert "    OSError: [Errno 28] No space left on device: 'cells.csv'" in last
    assert [line for line in last if line.startswith("What to do: The disk is full")]
    # The command that is shown is short, and does in a shell what the job did.
    alone = last[-1].strip()
    assert len(alone) < 400
    again = made.shell(["bash", "-c", alone.replace("$PWD/.venv/bin", str(study.BIN))])
    assert again.returncode == 1
    assert "No space left" in (made.folder / "results/full/logs/tables.txt").read_text()
