"""The glossary, the answers of `make explain`, and the document of two runs."""

import json
import re

import pytest

from made_tables import accepted, cell, comparison
from stackwars.core import documents
from stackwars.core.outcome import Status
from stackwars.publish.report import compare
from stackwars.publish.report.gather import GLOSSARY, explained, glossary
from stackwars.study.claims.decide import dataset_of
from stackwars.study.config import load
from stackwars.study.results.folder import REFERENCE, Folder


def test_the_glossary_is_short_and_every_line_of_it_is_a_word():
    text = GLOSSARY.read_text(encoding="utf-8")
    found = glossary(text)
    assert len(found) == sum(line.startswith("- ") for line in text.splitlines()) <= 40
    assert found["baseline"].startswith("what a subject is compared with")
    assert re.findall(r"^\| ([a-z ]+) \|", text, re.MULTILINE) == ["status", *Status]


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
    both = [dataset_of(config, Folder(folder)) for folder in folders]
    found = compare.compared(*both, compare.compare(*both))
    assert [row["ratio"] for row in found["comparisons"]] == [1.5]
    assert [row["ratio"] for row in found["other"]["comparisons"]] == [3]
    assert found["other"]["name"] == "2026-02-02 of 2026-02-02 00:00"
    # What does not lie beside the tables is not in the document.
    assert found["programs"] == [] and found["details"] == {}


def test_two_folders_are_compared_by_a_command_as_text_and_in_a_page(folders, tmp_path, monkeypatch, capsys):
    output = tmp_path / "compare.html"
    arguments = ["compare", *map(str, folders), "--output", str(output)]
    monkeypatch.setattr("sys.argv", arguments)
    compare.main()
    printed = capsys.readouterr().out
    assert str(output) in printed and "Of 2 cells, 2 have the same status as in the reference." in printed
    assert '"other":{"name":"2026-02-02 of ' in output.read_text()
    (folders[1] / "cells.csv").unlink()
    said = r"2026-02-02: expected the tables of a run, got no cells\.csv; fix: make paper"
    with pytest.raises(SystemExit, match=said):
        compare.main()


def test_the_answers_of_make_explain_are_shown_with_what_cures_and_reproduces_a_fault():
    found = explained(REFERENCE)
    assert {"mha", "bert_base", "resnet50"} <= {row["workload"] for row in found}
    # Those about workloads come first.
    assert [bool(row["workload"]) for row in found] == sorted(
        (bool(row["workload"]) for row in found), reverse=True
    )
    [fault] = [row for row in found if row["name"] == "shift_rows" and row["kind"] == "fault"]
    assert "xla_disable_hlo_passes=algsimp" in fault["cures"]
    assert "stablehlo.scatter" in fault["reduced"] and fault["script"].startswith('"""')
    [mha] = [row for row in found if row["name"] == "mha"]
    assert mha["regions"][0]["what"] == "argument layout" and 0.8 < mha["share"] < 1
