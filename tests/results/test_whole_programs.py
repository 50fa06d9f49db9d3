"""The successor's programs in a run's tables, of this run and of the accepted ones."""

import json
from pathlib import Path

import pandas
import pytest

from stackwars.results import whole_programs
from stackwars.results.whole_study import Source
from stackwars.study.studies import Study

NAME = "compile_ahead.csv"
KEYS = ["workload", "framework", "run", "bytes"]
PROGRAMS, WORKLOADS = ("torch_tpu", "torchax"), ("ffn", "mha")
SIZES = {"ffn": {"batch": 2}, "mha": {"batch": 2}}
STUDY = Study("successor", (), PROGRAMS, (), (), None, WORKLOADS)


def source(folder: Path, run: str, *rows: tuple) -> Source:
    """A run's table; a row: workload, framework, status, bytes, the run that it was taken from, origin."""
    home = folder / (run or "here")
    home.mkdir()
    columns = ["workload", "framework", "status", "bytes", "run", "origin"]
    pandas.DataFrame(rows, columns=columns).to_csv(home / NAME, index=False)
    (home / "context.json").write_text(json.dumps({"schema": 1, "sizes": SIZES}))
    return Source(run, home)


@pytest.fixture
def runs(tmp_path) -> list[Source]:
    """A run that compiled FFN, beside a newer and an older accepted one."""
    return [
        source(
            tmp_path,
            "",
            ("ffn", "torch_tpu", "ok", 1, "", "measured"),
            ("mha", "torch_tpu", "not run", 0, "", "measured"),
            ("mha", "jax", "ok", 9, "", "measured"),
            ("ffn", "torchax", "ok", 8, "of an earlier build", "reference"),
        ),
        source(
            tmp_path,
            "new",
            ("ffn", "torch_tpu", "ok", 2, "", "measured"),
            ("mha", "torch_tpu", "oom", 3, "", "measured"),
            ("mha", "torchax", "ok", 6, "old", "reference"),
        ),
        source(
            tmp_path,
            "old",
            ("mha", "torch_tpu", "ok", 4, "", "measured"),
            ("gemm", "torch_tpu", "ok", 5, "", "measured"),
            ("mha", "torchax", "ok", 7, "", "measured"),
        ),
    ]


def test_what_this_run_did_not_compile_is_of_the_newest_run_that_did(runs):
    found = whole_programs.of_runs(STUDY, NAME, runs, SIZES)
    assert found[KEYS].to_numpy().tolist() == [
        ["ffn", "torch_tpu", "", "1"],
        ["mha", "jax", "", "9"],
        ["mha", "torch_tpu", "new", "3"],
        ["mha", "torchax", "old", "7"],
    ]
    assert list(found["origin"]) == ["measured", "measured", "reference", "reference"]


def test_programs_of_other_sizes_are_taken_from_no_run(runs):
    found = whole_programs.of_runs(STUDY, NAME, runs, {**SIZES, "mha": {"batch": 3}})
    assert list(found["bytes"]) == ["1", "0", "9"]


def test_without_the_study_a_table_is_this_run_s(runs):
    found = whole_programs.of_runs(None, NAME, runs, {})
    assert list(found["bytes"]) == ["1", "0", "9"]


def test_only_the_study_s_programs_that_ran_are_read_and_those_of_this_run_count_here(runs):
    path = runs[0].folder / NAME
    whole_programs.of_runs(STUDY, NAME, runs, SIZES).to_csv(path, index=False)
    row = {"programs": PROGRAMS, "workloads": WORKLOADS}
    measured, committed = (
        whole_programs.read(
            path, pandas.read_csv, {"studies": {"successor": row}, "origin": origin}
        )
        for origin in ("measured", "reference")
    )
    assert list(measured["framework"]) == ["torch_tpu", "torch_tpu", "torchax"]
    assert list(measured["here"]) == [True, False, False]
    assert committed["here"].all()
    nothing = whole_programs.read(path, pandas.read_csv, {"studies": {}, "origin": "measured"})
    assert nothing.empty and {"workload", "run"} <= set(nothing)
