"""The workflow on a real Slurm of two nodes, which the tests start on this machine.

They take some ten minutes and change /etc/slurm while they run: `make cluster` alone runs them.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurm
import study
from checkout import copy_checkout
from running import wait_for
from stackwars.core.launch import REPOSITORY

pytestmark = [pytest.mark.slow, pytest.mark.env]

ASKED = "STACKWARS_CLUSTER"
HERE = [
    *("--profile", "profiles/slurm", "--cores", "2", "--jobs", "8"),
    *("--slurm-no-account", "--slurm-status-command", "squeue"),
    *("--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5"),
]
"""What differs on this cluster from the profile."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[slurm.Cluster]:
    if why := slurm.missing():
        pytest.skip(why)
    if ASKED not in os.environ:
        pytest.skip("a Slurm is started by `make cluster` alone")
    with slurm.Cluster(tmp_path_factory.mktemp("slurm")) as made:
        yield made
        print(made.log())


def start(made: study.Study, *arguments: str, **environ: str) -> subprocess.Popen[str]:
    """Snakemake on the cluster, in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments, *HERE],
        cwd=made.folder, env={**os.environ, **environ},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def nodes_of(result: dict) -> set[str]:
    return {process["machine"]["node"] for process in result["processes"]}


def test_smoke_paper_is_made_on_two_nodes(cluster, tmp_path, jax_python, torch_xla_python):
    made = study.Study(copy_checkout(tmp_path))
    run = start(made, "paper.pdf", "--config", "preset=smoke")
    said = run.communicate()[0]
    assert run.returncode == 0, said[-5000:]
    smoke = made.folder / "results" / "smoke"
    used = {}
    for kind in ("cell.json", "replay.json"):
        for path in smoke.rglob(kind):
            result = json.loads(path.read_text())
            if result["status"] != "unsupported":
                used[path] = nodes_of(result)
    assert {len(nodes) for nodes in used.values()} == {1}
    assert set.union(*used.values()) == set(slurm.NODES)
    # No job, of however many steps side by side, asks for two nodes.
    jobs = [line for line in cluster.log().splitlines() if "NodeCnt=" in line]
    assert jobs and all("NodeCnt=1 " in line for line in jobs)
    assert "SMOKE RUN" in made.text()
    (REPOSITORY / "results").mkdir(exist_ok=True)
    shutil.copy(made.folder / "paper.pdf", REPOSITORY / "results" / "cluster.pdf")
    (REPOSITORY / "results" / "cluster.log").write_text(said + cluster.log())


@pytest.fixture
def toy(tmp_path) -> study.Study:
    """A study of NumPy whose cells take some seconds each."""
    return study.make(tmp_path, rounds=4)


def rounds_of(made: study.Study) -> list[Path]:
    """The finished rounds of the cells of GEMM that are not done."""
    return sorted(made.folder.glob("results/full/cpu/*/gemm/rounds/*/round.json"))


def test_lost_node_costs_its_job_and_its_rounds_are_resumed_there(cluster, toy):
    run = start(toy, "results", STACKWARS_FAKE_ours_gemm="slow", STACKWARS_FAKE_theirs_gemm="slow")
    first = wait_for(lambda: rounds_of(toy), 300)[0]
    framework, node = first.parents[3].name, json.loads(first.read_text())["machine"]["node"]
    other = next(name for name in slurm.NODES if name != node)
    cluster.down(node)
    said = run.communicate()[0]
    assert run.returncode != 0
    assert "failed: " in said and "gemm" in said
    assert (toy.cell("theirs", "layernorm") / "cell.json").exists()
    had = [json.loads(path.read_text())["started_s"] for path in rounds_of(toy) if framework in path.parts]
    assert had
    cluster.back(node)
    cluster.down(other)
    again = start(toy, "results")
    said = again.communicate()[0]
    cluster.back(other)
    assert again.returncode == 0, said[-5000:]
    cell = json.loads((toy.cell(framework, "gemm") / "cell.json").read_text())
    assert nodes_of(cell) == {node}
    assert [process["started_s"] for process in cell["processes"]][: len(had)] == had
    assert (toy.frame()["status"] == "ok").all()


def test_job_over_its_time_limit_ends_whole_and_is_told(cluster, toy):
    run = start(
        toy, "results", "--set-resources", "cell:slurm_partition='short'", STACKWARS_FAKE_theirs_gemm="sleep"
    )
    said = run.communicate()[0]
    assert run.returncode != 0
    assert "failed: " in said and "gemm" in said
    assert (toy.cell("theirs", "layernorm") / "cell.json").exists()
    running = subprocess.run(["pgrep", "-f", str(toy.folder)], capture_output=True, text=True)
    assert running.stdout == ""
    again = start(toy, "results")
    said = again.communicate()[0]
    assert again.returncode == 0, said[-5000:]
    assert (toy.frame()["status"] == "ok").all()
