"""What `make releases PROGRAM=...` makes of a workload, a StableHLO file and a program file."""

from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError

from stackwars.measure import documents
from stackwars.study.config import load
from stackwars.workflow import job_files
from stackwars.workflow.release_jobs import ReleaseJobs


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(job_files, "FOLDER", tmp_path)
    monkeypatch.setattr(job_files, "_running", True)
    return lambda program: ReleaseJobs(load(), program)


def wildcards(**names: str) -> SimpleNamespace:
    return SimpleNamespace(**names)


def test_a_workload_is_lowered_by_the_frameworks_and_judged_by_its_expected_values(jobs):
    found = jobs("mha")
    assert found.wanted(None)[:2] == [
        "explain/mha/releases/jaxlib.jax.json",
        "explain/mha/releases/jaxlib.torch_xla.json",
    ]
    one = wildcards(name="mha", project="iree", label="torch_xla")
    files = found.files(one)
    assert files[0] == "results/full/programs/torch_xla/mha/base/program.mlir.gz"
    assert "results/full/expected/mha/base/expected.npz" in files
    job = documents.read(found.job(one))
    assert (job["project"], job["order"], job["label"]) == ("iree", "bisect", "mha of torch_xla")
    assert job["program"] in files and job["arguments"] in files


def test_a_stablehlo_file_is_read_where_it_is_with_the_arguments_beside_it(jobs, tmp_path):
    path = tmp_path / "slow.mlir"
    found = jobs(str(path))
    assert found.wanted(None) == [
        "explain/slow/releases/jaxlib.slow.json",
        "explain/slow/releases/iree.slow.json",
    ]
    one = wildcards(name="slow", project="jaxlib", label="slow")
    assert found.files(one) == [str(path)]
    assert documents.read(found.job(one))["expected"] == ""
    (tmp_path / "arguments.json").write_text("{}")
    assert found.files(one) == [str(path), str(tmp_path / "arguments.json")]


def test_a_program_file_is_lowered_as_for_explain(jobs):
    files = jobs("x/softmax.py").files(wildcards(name="softmax", project="jaxlib", label="jax"))
    assert files == [
        "explain/softmax/programs/jax/program.mlir.gz", "explain/softmax/programs/jax/arguments.json",
        "explain/softmax/expected/expected.json", "explain/softmax/expected/expected.npz",
    ]  # fmt: skip


def test_without_a_program_the_command_is_said(jobs):
    with pytest.raises(WorkflowError, match="make releases PROGRAM="):
        jobs("").wanted(None)
