"""The rows of a study of programs alone, of this run and of the accepted ones."""

from pathlib import Path

import pandas
import pytest

from stackwars.results.folder import Folder
from stackwars.results.whole_study import Source, of_programs, of_workloads

STUDY = {"programs": ["torch_tpu"], "workloads": ["ffn", "mha", "conv"]}


def write(folder: Path, *rows: tuple[str, str, str, int]) -> None:
    folder.mkdir(exist_ok=True)
    columns = ["workload", "framework", "status", "hbm_bytes"]
    pandas.DataFrame(rows, columns=columns).to_csv(folder / "compile_ahead.csv", index=False)


@pytest.fixture
def read(tmp_path, monkeypatch):
    """The rows of a run that compiled FFN, beside a newer and an older accepted one."""
    write(
        tmp_path,
        *[
            ("ffn", "torch_tpu", "ok", 1),
            ("mha", "torch_tpu", "not run", 0),
            ("mha", "jax", "ok", 9),
        ],
    )
    write(tmp_path / "new", ("ffn", "torch_tpu", "ok", 2), ("mha", "torch_tpu", "oom", 3))
    write(tmp_path / "old", ("mha", "torch_tpu", "ok", 4), ("gemm", "torch_tpu", "ok", 5))
    every = [Source("", tmp_path), Source("new", tmp_path / "new"), Source("old", tmp_path / "old")]
    monkeypatch.setattr("stackwars.results.whole_study.sources", lambda folder: every)
    context = {"studies": {"successor": STUDY}, "origin": "measured"}
    files = Folder(tmp_path)
    return lambda study: of_programs(files, "ahead", pandas.read_csv, context, study)


def test_what_this_run_did_not_compile_is_of_the_newest_run_that_did(read):
    found = read("successor")
    rows = list(zip(found["workload"], found["run"], found["hbm_bytes"], strict=True))
    assert rows == [("ffn", "", 1), ("mha", "new", 3)]
    assert list(found["here"]) == [True, False]


def test_frameworks_of_two_runs_stand_side_by_side(read, monkeypatch):
    monkeypatch.setitem(STUDY, "programs", ["torch_tpu", "jax"])
    found = read("successor")
    rows = list(zip(found["workload"], found["framework"], found["run"], strict=True))
    assert rows == [("ffn", "torch_tpu", ""), ("mha", "jax", ""), ("mha", "torch_tpu", "new")]


def test_a_configuration_without_the_study_has_no_row(read):
    found = read("another")
    assert found.empty
    assert {"workload", "run"} <= set(found.columns)


def test_a_newer_run_of_one_workload_hides_no_older_one_of_the_others(read, tmp_path):
    found = of_workloads(Folder(tmp_path), "ahead", {"origin": "reference"})
    rows = list(zip(found["workload"], found["run"], found["hbm_bytes"], strict=True))
    assert rows == [("ffn", "", 1), ("mha", "", 0), ("mha", "", 9), ("gemm", "old", 5)]
    assert found["here"].all()
    own = of_workloads(Folder(tmp_path), "ahead", {"origin": "measured"})
    assert list(own["here"]) == [True, True, True, False]


def test_of_accepted_runs_the_one_with_most_results_of_a_workload_is_taken(read, tmp_path):
    write(tmp_path, ("conv", "jax", "ok", 7))
    write(tmp_path / "new", ("mha", "jax", "error", 1), ("ffn", "jax", "ok", 2))
    write(tmp_path / "old", ("mha", "jax", "ok", 3), ("ffn", "jax", "ok", 4))
    found = of_workloads(Folder(tmp_path), "ahead", {"origin": "measured"})
    rows = list(zip(found["workload"], found["run"], found["hbm_bytes"], strict=True))
    assert rows == [("conv", "", 7), ("mha", "old", 3), ("ffn", "new", 2)]
