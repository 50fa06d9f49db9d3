"""A study of NumPy that is killed, goes on, has cells that end badly, is edited and fails; in this order."""

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

BAD = {
    ("ours", "gemm"): ("sigkill", "crash", "SIGKILL"),
    ("theirs", "gemm"): ("sleep", "timeout", "time limit"),
    ("ours", "layernorm"): ("hog", "oom", "refused at build"),
    ("theirs", "layernorm"): ("raise", "error", "the second call went wrong"),
}
"""(framework, workload): (what the process does, its status, what the detail says)."""
WORKLOADS = ("gemm", "layernorm", "two_matmuls", "softmax")
COSTS = "rule,device,name,workload,first_s,round_s,machine\npaper,,,,20,,a slow one\n" + "".join(
    f"cell,cpu,theirs,{workload},{20 if workload == 'softmax' else 500},10,a slow one\n"
    for workload in WORKLOADS
)
"""In a minute there are two rounds of one workload."""
MEASURING = {"cell", "peak", "replay"}
STACK = ("RuleException", "CalledProcessError", "WorkflowError", "site-packages")

pytestmark = [pytest.mark.slow, pytest.mark.env]


@pytest.fixture(scope="module")
def made(tmp_path_factory, jax_python):
    """A study with a workload that is one file, named by the study alone."""
    made = study.make(
        tmp_path_factory.mktemp("toy"), WORKLOADS, **{"rounds": 3, "timeout_s": 15, "memory_cap_gib": 1.0}
    )
    shutil.copy(
        REPOSITORY / "docs" / "examples" / "softmax.py", made.folder / "src/stackwars/measure/workloads"
    )
    (made.folder / "config" / "costs.csv").write_text(COSTS)
    overlay = made.folder / OVERLAY
    config = yaml.safe_load(overlay.read_text())
    del config["workloads"]
    config["presets"]["full"]["rounds"] = {"two_matmuls": 1}
    overlay.write_text(yaml.safe_dump(config, sort_keys=False))
    return made


@pytest.fixture(scope="module")
def killed(made):
    """The text of a run of a minute that was killed after its first round, and when that round's process started."""
    log, environ = made.folder / "killed.txt", {**os.environ, "STACKWARS_TOY": "slow"}
    with log.open("w") as file:
        running = subprocess.Popen(
            made.command(study.CELLS, "--config", "minutes=1"),
            cwd=made.folder, env=environ, stdout=file, stderr=file,
        )  # fmt: skip

    def first_round() -> list[Path]:
        assert running.poll() is None, log.read_text()
        return list(made.folder.glob("results/full/cpu/theirs/*/rounds/0/round.json"))

    [path] = wait_for(first_round, 120)
    began = json.loads(path.read_text())["subject"]["started_s"]
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    time.sleep(2)
    return log.read_text(), began


@pytest.fixture(scope="module")
def ended(made, killed):
    """The study after a run without a limit whose cells end as BAD says, and one of two products with other outputs."""
    fakes = {f"STACKWARS_FAKE_{f}_{w}": does for (f, w), (does, *_) in BAD.items()}
    ran = made.run(study.CELLS, STACKWARS_FAKE_theirs_two_matmuls="disagree", **fakes)
    assert ran["cell"] == 8 and ran["tables"] == 1
    return made


def test_a_run_with_minutes_says_what_it_has_and_its_processes_die_with_it(made, killed):
    text = " ".join(killed[0].split())
    assert "Limited to 1 min, this run has 2 rounds of 2 of 8 cells" in text
    assert "about 50 s on a slow one" in text
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not [one for one in commands.splitlines() if "stackwars.measure" in one and str(made.folder) in one]


def test_more_time_adds_rounds_to_those_that_a_killed_run_had_finished(ended, killed):
    cell = json.loads((ended.cell("theirs", "softmax") / "cell.json").read_text())
    assert cell["processes"][0]["started_s"] == killed[1] and len(cell["processes"]) == 3
    cells = ended.frame().xs("softmax", level="workload")
    assert set(cells.index) == {"ours", "theirs"} and set(cells["title"]) == {"Softmax over rows"}
    assert set(cells["rounds"]) == {3} and ended.is_measured().xs("softmax", level="workload").all()


def test_a_bad_end_has_its_status_and_its_detail_and_no_time(ended):
    frame = ended.frame()
    for cell, (_, status, detail) in BAD.items():
        row = frame.loc[cell]
        assert row["status"] == status and detail in row["status_detail"]
        assert row[["first_ms", "second_ms", "steady_ms"]].isna().all()
    good = frame.loc[("ours", "two_matmuls")]
    assert good["status"] == "ok" and good["steady_ms"] > 0


def test_the_cell_whose_outputs_differ_is_wrong(ended):
    row = ended.frame().loc[("theirs", "two_matmuls")]
    assert row["status"] == "wrong" and row["struck_ms"] > 0
    assert row[["first_ms", "steady_ms", "items_per_s"]].isna().all()
    assert row["parity_rel_l2"] == pytest.approx(1e-4, rel=0.01)


def test_only_what_an_edit_touches_is_measured_again(ended):
    made, package = ended, ended.folder / "src" / "stackwars"

    # One cell's result deleted: that cell, and what is made from it.
    cell, aside = made.cell("ours", "two_matmuls") / "cell.json", made.folder / "aside.json"
    cell.rename(aside)
    planned, _ = made.plan()
    aside.rename(cell)
    assert (planned["cell"], planned["tables"]) == (1, 1)

    config = made.folder / "config/config.yaml"
    text = config.read_text()
    assert "m: 128" in text
    config.write_text(text.replace("m: 128", "m: 130"))
    planned, _ = made.plan(study.CELLS)
    assert planned["cell"] == 2
    config.write_text(text)

    # Prose, what the protocol's version stands for, titles and colours measure nothing again.
    for name in ("measure/workloads/adamw", "measure/workloads/base", "measure/frameworks/__init__"):
        study.write(package / f"{name}.py", '"""A remark."""  # Another.\n')
    for name in ("measure/supervisor", "measure/conduct", "core/limits", "measure/child", "measure/rounds"):
        study.write(package / f"{name}.py", "EDITED = True\n")
    shown = {
        "measure/workloads/gemm": ('"GEMM", "I", 10', '"Product", "II", 11'),
        "measure/frameworks/theirs": ("numpy.COLOUR", '"#14213e"'),
    }
    for name, (old, new) in shown.items():
        text = (package / f"{name}.py").read_text()
        assert text.count(old) == 1
        (package / f"{name}.py").write_text(text.replace(old, new))
    planned, _ = made.plan(study.CELLS)
    assert planned and not MEASURING & set(planned)


def test_failed_job_is_said_last_with_its_log_and_what_to_do(ended):
    study.write(
        ended.folder / "src" / "stackwars" / "study/results/tables.py",
        "\n\nraise OSError(28, 'No space left on device', 'cells.csv')\n",
    )
    done = ended.quietly(study.CELLS)
    assert done.returncode == 1
    assert not [word for word in STACK if word in done.stdout], done.stdout
    last = done.stdout.rpartition("\n\n")[2].splitlines()
    assert last[0] == "Failed: results/full/cells.csv and 9 more (rule tables)"
    assert last[1] == "Log: results/full/logs/tables.txt"
    assert "    OSError: [Errno 28] No space left on device: 'cells.csv'" in last
    assert [line for line in last if line.startswith("What to do: The disk is full")]
    # The command that is shown is short, and does in a shell what the job did.
    alone = last[-1].strip()
    assert len(alone) < 400
    again = ended.shell(["bash", "-c", alone.replace("$PWD/.venv/bin", str(study.BIN))])
    assert again.returncode == 1
    assert "No space left" in (ended.folder / "results/full/logs/tables.txt").read_text()
