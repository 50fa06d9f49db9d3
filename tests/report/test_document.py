"""The document of a run that measured the tables, beside a reference with every study; snapshots/ has it whole."""

import json
from collections.abc import Iterator

import pytest

from made_tables import accepted, cell, checked, comparison
from report_fixture import REFERENCE, RUN, made_document, made_sources
from snapshots import assert_snapshot
from stackwars.core import documents
from stackwars.publish.report import compare, tables
from stackwars.publish.report.gather import CLAIMS, changes, gather
from stackwars.study.claims.decide import dataset_of
from stackwars.study.config import load
from stackwars.study.results.folder import Folder

STUDIES = ("tables", "stacks", "matrix", "targets")
LEFT_OUT = ("glossary", "facts", "claims_changed", "quantities", "programs", "why", "against")
"""Parts that follow from files of the repository, or have a snapshot or a test of their own."""


def outlined(value: object, depth: int, indent: str = "") -> Iterator[str]:
    """Yield a value as JSON, the outer levels with a line for each of their members."""
    for name, one in value.items() if isinstance(value, dict) else enumerate(value):
        if depth > 1 and one and isinstance(one, dict | list):
            yield f"{indent}{name}:"
            yield from outlined(one, depth - 1, f"{indent}  ")
        else:
            yield f"{indent}{name}: {json.dumps(one, ensure_ascii=False)}"


def assert_document(name: str, value: dict, depth: int = 2) -> None:
    assert_snapshot(name, "\n".join(outlined(value, depth)))


def test_document():
    document = made_document()
    assert {row["framework"] for row in document["cells"]} <= document["frameworks"].keys()
    studies = {name: document["studies"][name] for name in STUDIES}
    shown = {key: value for key, value in document.items() if key not in LEFT_OUT}
    assert_document("document.txt", shown | {"studies": studies})
    assert_document("why.txt", document["why"], 3)


def test_rows_of_the_reference_say_so_in_the_report_of_another_run_alone(tmp_path):
    sources = made_sources(tmp_path, RUN, REFERENCE)
    sources.reference.context["run"] = "2026-01-01"
    document = gather(type(sources)(sources.reference, sources.reference, []))
    assert document["raw_run"] == "2026-01-01"
    assert not any("reference" in row for row in (*document["cells"], *document["comparisons"]))


def test_checks_are_of_this_run_or_else_of_the_reference(tmp_path):
    for name, own, expected in (
        ("own", [checked("numpy")], [("numpy", None)]),
        ("none", [], [("torchax", True), ("jax", True)]),  # those that are not ok come first
    ):
        found = tables.values(made_sources(tmp_path / name, {"values": own}, REFERENCE))
        assert [(row["framework"], row.get("reference")) for row in found] == expected


@pytest.mark.parametrize("reference", [{}, {"cells": [cell("jax")]}])
def test_without_a_ratio_of_the_two_there_is_no_page(tmp_path, reference):
    document = gather(made_sources(tmp_path, {}, reference))
    assert document["why"] == {}


def test_reviews_of_the_claims_are_found_in_their_page():
    text = "# Claims\n\nA review on 1 May struck\n`a`.\n\nOther.\n\nA review on 2 May added `b`.\n"
    assert changes(text) == "A review on 1 May struck a. A review on 2 May added b."
    assert changes(CLAIMS.read_text(encoding="utf-8"))


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
    both = [dataset_of(config, Folder(one)) for one in folders]
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
    printed = " ".join(capsys.readouterr().out.split())
    assert str(output) in printed and "Of 2 cells, 2 have the same status as in the reference." in printed
    assert '"other":{"name":"2026-02-02 of ' in output.read_text()
    (folders[1] / "cells.csv").unlink()
    said = r"2026-02-02: expected the tables of a run, got no cells\.csv; fix: make paper"
    with pytest.raises(SystemExit, match=said):
        compare.main()
