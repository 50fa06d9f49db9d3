"""The workflow on a real Slurm of two nodes, which the tests start on this machine.

They take some ten minutes and change /etc/slurm while they run: `make cluster` alone runs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import slurm
import study
from checkout import copy_checkout
from stackwars.results.folder import Folder
from stackwars.setup.environments import REPOSITORY

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


def wait_for(condition: Callable[[], object], seconds: float = 300) -> object:
    """The first true value of the condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds} s")


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
                used.setdefault((result["device"], result["workload"]), set()).update(nodes_of(result))
    assert {len(nodes) for nodes in used.values()} == {1}
    assert set.union(*used.values()) == set(slurm.NODES)
    context = json.loads(Folder(smoke)["context"].read_text())
    assert {row["node"] for row in context["nodes"]} == set(slurm.NODES)
    # No job, of however many steps side by side, asks for two nodes.
    jobs = [line for line in cluster.log().splitlines() if "NodeCnt=" in line]
    assert jobs and all("NodeCnt=1 " in line for line in jobs)
    assert all(row["peak"] for row in context["nodes"])
    text = made.text()
    assert "measured on that node" in text and "those of two nodes are not compared" in text
    assert "times of two nodes" not in text
    (REPOSITORY / "results").mkdir(exist_ok=True)
    shutil.copy(made.folder / "paper.pdf", REPOSITORY / "results" / "cluster.pdf")
    (REPOSITORY / "results" / "cluster.log").write_text(said + cluster.log())


@pytest.fixture
def toy(tmp_path) -> study.Study:
    """A study of NumPy whose processes take some seconds each."""
    return study.make(tmp_path, rounds_min=4, rounds_max=4)


def kept(made: study.Study) -> list[Path]:
    place = made.folder / ".snakemake" / "stackwars" / "kept"
    return sorted(place.glob("*/full/cpu/*/gemm/process-*/process.json"))


def assert_in_rounds(made: study.Study, workload: str) -> None:
    """All processes of a workload are of one node, one after the other, and round after round."""
    results = [json.loads((made.cell(name, workload) / "cell.json").read_text()) for name in ("ours", "theirs")]
    assert len(set.union(*map(nodes_of, results))) == 1
    processes = sorted((p for r in results for p in r["processes"]), key=lambda p: p["started_s"])
    assert len(processes) == 8
    rounds = [process["repetition"] for process in processes]
    assert rounds == sorted(rounds)
    for one, following in pairwise(processes):
        assert one["started_s"] + one["wall_s"] <= following["started_s"]


def started(result: dict) -> dict[int, float]:
    return {p["repetition"]: p["started_s"] for p in result["processes"]}


def test_lost_node_costs_its_job_and_what_it_had_measured_is_taken_back(cluster, toy):
    run = start(toy, "results", STACKWARS_FAKE_ours_gemm="slow", STACKWARS_FAKE_theirs_gemm="slow")
    first = wait_for(lambda: kept(toy))[0]
    node = json.loads(first.read_text())["machine"]["node"]
    other = next(name for name in slurm.NODES if name != node)
    cluster.down(node)
    said = run.communicate()[0]
    assert run.returncode != 0
    assert "failed: the job measured-cpu-gemm" in said
    # The other job has gone on; of the lost one Snakemake leaves nothing.
    assert (toy.cell("theirs", "layernorm") / "cell.json").exists()
    assert not list((toy.folder / "results").glob("full/cpu/*/gemm/*/process.json"))
    had = {
        (path.parents[2].name, int(path.parent.name.removeprefix("process-"))): json.loads(path.read_text())[
            "started_s"
        ]
        for path in kept(toy)
    }
    assert had
    cluster.back(node)
    cluster.down(other)
    again = start(toy, "results")
    said = again.communicate()[0]
    cluster.back(other)
    assert again.returncode == 0, said[-5000:]
    cells = {
        name: json.loads((toy.cell(name, "gemm") / "cell.json").read_text()) for name in ("ours", "theirs")
    }
    assert {node for cell in cells.values() for node in nodes_of(cell)} == {node}
    for (framework, repetition), when in had.items():
        assert started(cells[framework])[repetition] == when
    assert (toy.frame()["status"] == "ok").all()


def test_job_over_its_time_limit_ends_whole_and_is_told(cluster, toy):
    short = [f"{rule}:slurm_partition='short'" for rule in ("process", "cell", "workload_done")]
    run = start(toy, "results", "--set-resources", *short, STACKWARS_FAKE_theirs_gemm="sleep")
    said = run.communicate()[0]
    assert run.returncode != 0
    assert "failed: " in said and "gemm" in said
    assert (toy.cell("theirs", "layernorm") / "cell.json").exists()
    assert_in_rounds(toy, "layernorm")
    running = subprocess.run(["pgrep", "-f", str(toy.folder)], capture_output=True, text=True)
    assert running.stdout == ""
    again = start(toy, "results")
    said = again.communicate()[0]
    assert again.returncode == 0, said[-5000:]
    assert_in_rounds(toy, "gemm")
