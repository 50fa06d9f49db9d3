"""The checks of a fault find what is lost, wrong or not said; and some real faults are survived."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from faults.injection import assert_intact, finished, wrong_numbers
from measured import GEMM, config, process, write_cell, write_results
from stackwars.core import machine
from stackwars.results import schema, tables
from stackwars.results.folder import Folder

TORCH = replace(GEMM, framework="torch_xla")


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two rounds of the GEMM in two frameworks, and the tables from them, as if measured here."""
    monkeypatch.setattr(machine, "record", lambda: process()["machine"])
    write_results(tmp_path)
    for cell in (GEMM, TORCH):
        processes = [process(cell, number, first_ms=100.0 + number) for number in (0, 1)]
        write_cell(tmp_path, processes, np.arange(8, dtype=np.float32))
    tables.write(config(workloads=["gemm"], devices=["cpu"]), Folder(tmp_path))
    return tmp_path


def test_a_round_is_the_same_in_its_own_folder_and_in_its_cell(results):
    before = finished(results)
    assert len(before) == 5  # the peak is one
    path = results / GEMM.path / "cell.json"
    for record in json.loads(path.read_text())["processes"]:
        place = path.parent / "rounds" / str(record["repetition"])
        place.mkdir(parents=True)
        (place / "round.json").write_text(json.dumps(record))
    path.unlink()
    assert assert_intact_but_shown(results) == before
    shutil.rmtree(results / GEMM.path)
    shutil.rmtree(results / "cpu" / "jax", ignore_errors=True)
    (results / "cells.csv").unlink()
    with pytest.raises(AssertionError):
        assert_intact(results, before)
    assert_intact(results, before, (str(GEMM.path),))


def assert_intact_but_shown(results):
    """Return what is finished; a cell of the table without its result is found."""
    assert any("no result" in problem for problem in wrong_numbers(results))
    return finished(results)


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("cell.json", '"ns": 101000000', '"ns": 10100000', "first_ms is"),
        ("cell.json", '"status": "ok"', '"status": "error"', "did not finish"),
        ("cell.json", '"framework": "torch_xla"', '"framework": "jax"', "result of another cell"),
        ("cell.json", '"at_s": 1003.5', '"at_s": 1.5', "clock went back"),
        ("cell.json", '"cores": 2', '"cores": 64', "another machine"),
        ("cell.json", "{", "", "no result"),
    ],
)
def test_a_number_without_a_result_behind_it_is_found(results, name, old, new, problem):
    assert not list(wrong_numbers(results))
    path = results / TORCH.path / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    found = list(wrong_numbers(results))
    assert found and all(one.startswith("cpu/torch_xla/gemm: ") for one in found)
    assert problem in " ".join(found)


def test_wrong_tables_and_outputs_are_found(results):
    path = results / "cells.csv"
    before = path.read_bytes()
    schema.write(schema.read(path).assign(status="oom"), path)
    assert len(list(wrong_numbers(results))) == 2
    path.write_bytes(before)
    np.save(results / GEMM.path / "output.npy", np.arange(8))
    assert "another output" in next(wrong_numbers(results))
