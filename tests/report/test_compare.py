"""Two runs in one report."""

import json

import pytest

from made_tables import accepted, cell, comparison
from stackwars.claims.decide import dataset_of
from stackwars.measure import documents
from stackwars.report import compare
from stackwars.results.folder import Folder
from stackwars.study.config import load


@pytest.fixture
def folders(tmp_path):
    """A run and another one with twice its ratio."""
    for name, ratio in (("2026-01-01", 1.5), ("2026-02-02", 3.0)):
        rows = {"cells": [cell("jax"), cell("torch_xla")], "comparisons": [comparison("gemm", ratio)]}
        accepted(tmp_path / name, **rows)
        path = tmp_path / name / "context.json"
        path.write_text(json.dumps({**documents.read(path), "sizes": {"gemm": {"m": 2}}, "devices": {}}))
    return [tmp_path / "2026-01-01", tmp_path / "2026-02-02"]


def test_ratios_of_the_other_run_stand_beside_those_of_the_first(folders):
    config = load()
    found = compare.compared(*(dataset_of(config, Folder(folder)) for folder in folders))
    assert [row["ratio"] for row in found["comparisons"]] == [1.5]
    assert [row["ratio"] for row in found["other"]["comparisons"]] == [3]
    assert found["other"]["name"] == "2026-02-02 of 2026-02-02 00:00"
    # What does not lie beside the tables is not in the document.
    assert found["programs"] == [] and found["details"] == {}


def test_both_are_in_a_page(folders, tmp_path, monkeypatch, capsys):
    output = tmp_path / "compare.html"
    arguments = ["compare", *map(str, folders), "--output", str(output)]
    monkeypatch.setattr("sys.argv", arguments)
    compare.main()
    assert str(output) in capsys.readouterr().out
    assert '"other":{"name":"2026-02-02 of ' in output.read_text()
