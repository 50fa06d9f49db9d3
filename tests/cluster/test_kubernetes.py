"""The profile of Kubernetes: the Jobs it would create, read; no cluster has been tried."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import study
from stackwars.setup.environments import REPOSITORY

PROFILE = REPOSITORY / "profiles" / "kubernetes"
KUBECTL = Path(__file__).with_name("kubectl.py")


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Where the stand-in for kubectl, first on the path, keeps the Jobs."""
    programs, jobs = tmp_path / "bin", tmp_path / "jobs"
    programs.mkdir()
    jobs.mkdir()
    kubectl = programs / "kubectl"
    kubectl.write_text(f'#!/bin/sh\nexec {sys.executable} {KUBECTL} "$@"\n')
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("KUBECTL_JOBS", str(jobs))
    return jobs


def submit(here: Path, **changed: str) -> dict:
    """The Job that is created for a workload's cells, or for what `changed` says."""
    asked = {
        "name": "measured-cpu-gpt2_small",
        "pool": "cpu",
        "alone": "4",
        "cores": "15",
        "memory": "8Gi",
    }
    options = [word for key, value in (asked | changed).items() for word in (f"--{key}", value)]
    command = [sys.executable, str(PROFILE / "submit.py"), *options, "/bin/true"]
    name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return yaml.safe_load((here / f"{name.removeprefix('job.batch/')}.yaml").read_text())


def refused_beside(job: dict) -> dict:
    affinity = job["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    return term["labelSelector"]["matchLabels"]


def test_what_is_timed_has_its_node_alone(here):
    timed, other = submit(here), submit(here, name="compiled-gemm", alone="0", cores="1")
    labels = {
        kind: job["spec"]["template"]["metadata"]["labels"]
        for kind, job in (("timed", timed), ("other", other))
    }
    assert refused_beside(timed).items() <= labels["timed"].items()
    assert refused_beside(timed).items() <= labels["other"].items()
    assert refused_beside(other).items() <= labels["timed"].items()
    assert not refused_beside(other).items() <= labels["other"].items()


def test_job_says_its_node_its_pool_and_its_folder(here):
    job = submit(here)
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert job["metadata"]["generateName"] == "stackwars-measured-cpu-gpt2-small-"
    assert pod["nodeSelector"] == {"stackwars/pool": "cpu"}
    assert container["env"] == [
        {"name": "STACKWARS_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    ]
    (mount,) = container["volumeMounts"]
    assert mount["mountPath"] == container["workingDir"] == str(Path.cwd())
    assert container["resources"] == {"requests": {"cpu": "15", "memory": "8Gi"}}
    assert (job["spec"]["backoffLimit"], pod["restartPolicy"]) == (0, "Never")


def test_gpu_is_asked_for_in_its_pool_alone(here):
    (container,) = submit(here, pool="gpu")["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}


def test_name_is_one_that_kubernetes_takes(here):
    name = submit(here, name="measured-cpu-" + "long_Name" * 9)["metadata"]["generateName"]
    assert len(name) <= 53 and name == name.lower() and "_" not in name


@pytest.mark.parametrize(
    ("end", "told"),
    [("Complete", "success"), ("Failed", "failed"), ("", "running"), (None, "failed")],
)
def test_end_of_a_job_is_told(here, end, told):
    if end is not None:
        (here / "one.yaml").write_text("")
        (here / "one.end").write_text(end)
    status = [str(PROFILE / "status.sh"), "job.batch/one"]
    assert subprocess.run(status, capture_output=True, text=True).stdout.strip() == told


def test_kubernetes_that_does_not_answer_ends_no_job(here, monkeypatch):
    monkeypatch.setenv("KUBECTL_JOBS", "")
    (here.parent / "bin" / "kubectl").write_text("#!/bin/sh\necho no route to host >&2\nexit 1\n")
    status = [str(PROFILE / "status.sh"), "job.batch/one"]
    assert subprocess.run(status, capture_output=True, text=True).stdout.strip() == "running"


@pytest.mark.slow
@pytest.mark.env
@pytest.mark.skipif("STACKWARS_CLUSTER" not in os.environ, reason="`make cluster` alone runs it")
def test_rounds_of_a_workload_are_one_job_and_a_lost_one_costs_no_other(here, tmp_path):
    made = study.make(tmp_path / "checkout")
    (made.folder / ".venv").symlink_to(Path(sys.prefix))
    run = [
        *(sys.executable, "-m", "snakemake", "results", "--profile", "profiles/kubernetes"),
        *("--cores", "2", "--latency-wait", "5", "--seconds-between-status-checks", "1"),
    ]
    lost = made.shell(run, KUBECTL_FAILS="measured-cpu-gemm")
    assert lost.returncode != 0
    assert (made.cell("theirs", "layernorm") / "cell.json").exists()
    assert not (made.cell("ours", "gemm") / "cell.json").exists()
    again = made.shell(run)
    assert again.returncode == 0, again.stdout[-5000:]
    assert (made.frame()["status"] == "ok").all()
    jobs = {path.stem: yaml.safe_load(path.read_text()) for path in here.glob("*.yaml")}
    timed = [name for name in jobs if "-measured-" in name]
    assert len([name for name in timed if "gemm" in name]) == 2
    assert len([name for name in timed if "layernorm" in name]) == 1
    for name, job in jobs.items():
        (container,) = job["spec"]["template"]["spec"]["containers"]
        alone = "-measured-" in name or any(rule in name for rule in ("-device-", "-peak-"))
        assert job["metadata"]["labels"]["timed"] == ("yes" if alone else "no"), name
        assert container["workingDir"] == str(made.folder)
