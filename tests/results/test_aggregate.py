"""From a folder of results to the five files that the paper is made from."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd

from measured import config, process, write_cell, write_results
from stackwars.results.aggregate import aggregate
from stackwars.results.folder import Folder
from stackwars.results.frame import CALL_COLUMNS, COLUMNS
from stackwars.results.ratios import COLUMNS as RATIO_COLUMNS
from stackwars.setup.environments import clean_environ
from stackwars.study.cells import Cell, asked
from stackwars.workflow import job_files

FILES = ("frame.csv", "calls.csv", "ratios.csv", "processes.csv", "context.json")


def results(tmp_path):
    """A folder with both GEMM cells."""
    folder = write_results(tmp_path / "results")
    for framework, steady_ms in (("jax", 1.0), ("torch_xla", 2.0)):
        cell = Cell(framework, "gemm", "cpu")
        write_cell(folder, [process(cell, n, steady_ms=(steady_ms,)) for n in (0, 1)])
    return folder


def test_files_can_be_read_back(tmp_path):
    aggregate(config(), Folder(tmp_path / "out", results(tmp_path)))
    table, calls, ratios = (pd.read_csv(tmp_path / "out" / name) for name in FILES[:3])
    assert list(table.columns) == list(COLUMNS)
    assert tuple(calls.columns) == CALL_COLUMNS
    assert list(ratios.columns) == list(RATIO_COLUMNS)
    assert len(table) == len(asked(config()))
    assert list(table["status"]).count("ok") == 2
    assert len(calls) == 12
    assert np.isclose(ratios["steady_ratio"], [2.0])
    assert set(table["origin"]) == {"measured"}
    assert json.loads((tmp_path / "out" / "context.json").read_text())["preset"] == "smoke"


def test_a_cell_that_the_frame_refuses_gives_no_number_to_any_table(tmp_path):
    folder = write_results(tmp_path / "results")
    for framework, output in (("jax", np.ones(4)), ("torch_xla", np.zeros(4))):
        cell = Cell(framework, "gemm", "cpu")
        write_cell(folder, [process(cell, n) for n in (0, 1)], output.astype(np.float32))
    aggregate(config(), Folder(tmp_path / "out", folder))
    found = pd.read_csv(tmp_path / "out" / "processes.csv")
    assert found["value_ms"].isna().all() and found["class"].isna().all()
    assert found["why"].str.startswith("outputs disagree").all() and not found["gated"].any()
    assert pd.read_csv(tmp_path / "out" / "calls.csv").empty


def test_command_writes_the_same_bytes(tmp_path):
    folder = results(tmp_path)
    aggregate(config(), Folder(tmp_path / "one", folder))
    subprocess.run(
        [sys.executable, "-m", "stackwars.results.aggregate", "--config",
         job_files.file("config", config(), tmp_path),
         "--measured", folder, "--results", tmp_path / "two"],
        env=clean_environ({}), check=True,
    )  # fmt: skip
    for file in FILES:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_grid_without_any_result_has_its_rows(tmp_path):
    aggregate(config(), Folder(tmp_path / "out", write_results(tmp_path / "results")))
    table = pd.read_csv(tmp_path / "out" / "frame.csv")
    assert set(table["status"]) == {"not run"}
    assert pd.read_csv(tmp_path / "out" / "calls.csv").empty
    ratios = pd.read_csv(tmp_path / "out" / "ratios.csv")
    assert ratios.empty and list(ratios.columns) == list(RATIO_COLUMNS)
