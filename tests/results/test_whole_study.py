"""Each workload of a table from one run, this or an accepted one."""

from pathlib import Path
from types import SimpleNamespace

import pandas
import pytest

from stackwars.results.folder import Folder
from stackwars.results.whole_study import Source, of_workloads, rows


def write(folder: Path, *rows: tuple[str, str, str, int]) -> None:
    folder.mkdir(exist_ok=True)
    columns = ["workload", "framework", "status", "hbm_bytes"]
    pandas.DataFrame(rows, columns=columns).to_csv(folder / "compile_ahead.csv", index=False)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A run that compiled FFN, beside a newer and an older accepted one."""
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


@pytest.mark.usefixtures("runs")
def test_a_newer_run_of_one_workload_hides_no_older_one_of_the_others(tmp_path):
    found = of_workloads(Folder(tmp_path), "ahead", {"origin": "reference"})
    rows = list(zip(found["workload"], found["run"], found["hbm_bytes"], strict=True))
    assert rows == [("ffn", "", 1), ("mha", "", 0), ("mha", "", 9), ("gemm", "old", 5)]
    assert found["here"].all()
    own = of_workloads(Folder(tmp_path), "ahead", {"origin": "measured"})
    assert list(own["here"]) == [True, True, True, False]


def test_one_failed_cell_does_not_hide_what_this_run_measured(tmp_path):
    write(tmp_path, ("ffn", "jax", "ok", 1), ("ffn", "torch_xla", "error", 0))
    write(tmp_path / "new", ("ffn", "jax", "ok", 2), ("ffn", "torch_xla", "ok", 3))
    study = SimpleNamespace(workloads=["ffn"], devices=[], compilers=[])
    every = [Source("", tmp_path), Source("new", tmp_path / "new")]
    asked = (study, "compile_ahead.csv", every)
    assert list(rows(*asked, ("jax", "torch_xla"))["hbm_bytes"]) == [1, 0]
    write(tmp_path, ("ffn", "jax", "ok", 1), ("ffn", "torch_xla", "not run", 0))
    assert list(rows(*asked, ("jax", "torch_xla"))["hbm_bytes"]) == [2, 3]


@pytest.mark.usefixtures("runs")
def test_of_accepted_runs_the_one_with_most_results_of_a_workload_is_taken(tmp_path):
    write(tmp_path, ("conv", "jax", "ok", 7))
    write(tmp_path / "new", ("mha", "jax", "error", 1), ("ffn", "jax", "ok", 2))
    write(tmp_path / "old", ("mha", "jax", "ok", 3), ("ffn", "jax", "ok", 4))
    found = of_workloads(Folder(tmp_path), "ahead", {"origin": "measured"})
    rows = list(zip(found["workload"], found["run"], found["hbm_bytes"], strict=True))
    assert rows == [("conv", "", 7), ("mha", "old", 3), ("ffn", "new", 2)]
