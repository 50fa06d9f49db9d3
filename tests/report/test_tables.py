"""The rows that the report shows, each study from one source."""

import pytest

from made_tables import NEW, OLD, cell, checked, comparison, program, replay, rounds
from report_fixture import made_sources
from stackwars.publish.report import tables


def test_a_study_that_the_run_did_not_measure_is_of_the_reference(tmp_path):
    own = [cell("jax", steady_ms=1.0), cell("torch_xla", steady_ms=2.0)]
    there = [cell("jax", steady_ms=5.0, run="a"), cell("torch_xla", steady_ms=6.0, run="a")]
    found = tables.cells(made_sources(tmp_path, {"cells": own}, {"cells": there}))
    shown = {(row["study"], row["framework"]): (row["steady_ms"], row.get("run")) for row in found}
    assert shown["tables", "jax"] == (1.0, None)
    assert shown["stacks", "jax"] == (5.0, "a")
    # Every study that has the framework is shown, and every row says which it is of.
    assert {study for study, _ in shown} == {"tables", "stacks", "matrix"}


def test_cells_of_a_device_that_a_study_does_not_have_are_not_of_it(tmp_path):
    rows = [cell("jax"), {**cell("jax"), "device": "tpu"}]
    found = tables.cells(made_sources(tmp_path, {"cells": rows}, {"cells": rows}))
    assert {row["device"] for row in found if row["study"] == "tables"} == {"cpu", "tpu"}
    assert {row["device"] for row in found if row["study"] == "stacks"} == {"cpu"}


def test_what_is_missing_is_left_out_and_a_number_has_six_digits(tmp_path):
    rows = [cell("jax", steady_ms=1.23456789, peak_rss_bytes=2**30)]
    [row] = [
        row for row in tables.cells(made_sources(tmp_path, {"cells": rows}, {})) if row["study"] == "tables"
    ]
    assert row["steady_ms"] == 1.23457 and row["peak_rss_bytes"] == 2**30
    assert "first_ms" not in row and "status_detail" not in row


def test_a_replay_has_what_its_compiler_made_of_the_program(tmp_path):
    cells = [replay("jax", OLD, steady_ms=4.0), replay("jax", NEW, steady_ms=2.0)]
    programs = [program("jax", target="cpu", compiler=OLD, fusions=7, compile_s=0.5)]
    found = tables.cells(made_sources(tmp_path, {"cells": cells, "programs": programs}, {}))
    old, new = (
        next(row for row in found if row["study"] == "tables" and row["compiler"] == compiler)
        for compiler in (OLD, NEW)
    )
    assert (old["fusions"], old["compile_s"], old["over_best"]) == (7, 0.5, 2)
    assert new["over_best"] == 1 and "fusions" not in new


def test_every_comparison_has_the_rounds_of_every_run(tmp_path):
    """A run that kept none of its rounds has one row for all."""
    paired = [
        *rounds("steady", "torch_xla", (1.4, 1.6), run="a"),
        {**rounds("steady", "torch_xla", (1.7,), run="b")[0], "round": None, "rounds": 3},
    ]
    there = {"comparisons": [comparison("gemm", 1.5)], "rounds": paired}
    own = {"comparisons": [comparison("gemm", 1.2)], "rounds": rounds("steady", "torch_xla", (1.2,))}
    found = tables.comparisons(made_sources(tmp_path, own, there))
    by_ratio = {row["ratio"]: row for row in found}
    assert by_ratio.keys() == {1.2, 1.5}
    assert by_ratio[1.2]["studies"] == ["tables"] and by_ratio[1.2]["each"] == [["", 0, 1.2]]
    assert by_ratio[1.5]["studies"] == ["stacks", "matrix"]
    assert by_ratio[1.5]["each"] == [["a", 0, 1.4], ["a", 1, 1.6], ["b", None, 1.7]]


@pytest.mark.parametrize(
    ("columns", "studies"),
    [
        ({"quantity": "replay", "compiler": OLD}, ["tables", "matrix"]),
        ({"quantity": "replay", "compiler": "iree-3.13"}, ["matrix"]),
        ({"quantity": "hbm", "device": "tpu-v6e", "compiler": NEW}, ["targets"]),
        ({"quantity": "structure", "device": ""}, ["tables", "targets", "matrix"]),
        ({"quantity": "collectives", "workload": "ffn"}, ["sharding"]),
    ],
)
def test_a_comparison_of_programs_is_of_the_studies_that_ask_for_it(columns, studies, tmp_path):
    row = {"comparisons": [{**comparison("gemm", 1.5), **columns}]}
    [found] = tables.comparisons(made_sources(tmp_path, {}, row, measure=["successor"]))
    assert found["studies"] == studies


def test_programs_that_were_compiled_for_targets(tmp_path):
    rows = [
        program("jax", target="tpu-v6e", compiler=NEW, hbm_bytes=100),
        program("jax", target="cpu", compiler=NEW),
        program("jax"),
        program("jax", "ffn", target="tpu-v6e", compiler=NEW, variant="tensor4", devices=4),
    ]
    found = tables.compiled(made_sources(tmp_path, {"programs": rows}, {"programs": rows}))
    assert [(row["study"], row["workload"], row.get("hbm_bytes")) for row in found] == [
        ("targets", "gemm", 100),
        ("sharding", "ffn", None),
    ]


def test_checks_are_of_this_run_or_else_of_the_reference_and_faults_come_first(tmp_path):
    rows = [checked("jax"), checked("torchax", "crash")]
    found = tables.values(made_sources(tmp_path / "a", {"values": rows[:1]}, {"values": rows}))
    assert [(row["framework"], row["status"]) for row in found] == [("jax", "ok")]
    found = tables.values(made_sources(tmp_path / "b", {}, {"values": rows}))
    assert [row["status"] for row in found] == ["crash", "ok"]


def test_a_replay_has_its_ratio_to_the_baseline_in_the_same_compiler(tmp_path):
    rows = {
        "cells": [replay("jax", OLD, steady_ms=2.0), replay("torch_xla", OLD, steady_ms=4.0)],
        "comparisons": [{**comparison("gemm", 1.9), "quantity": "replay", "compiler": OLD}],
    }
    found = {
        row["framework"]: row
        for row in tables.cells(made_sources(tmp_path, rows, {}))
        if row["study"] == "tables"
    }
    assert found["torch_xla"]["ratio"] == 1.9
    assert "ratio" not in found["jax"]


def test_rows_of_the_reference_say_so_in_the_report_of_another_run_alone(tmp_path):
    rows = {"cells": [cell("jax"), cell("torch_xla")]}
    sources = made_sources(tmp_path, rows, rows)
    marked = {row["study"]: row.get("reference", False) for row in tables.cells(sources)}
    assert marked == {"tables": False, "stacks": True, "matrix": True}
    own = type(sources)(sources.reference, sources.reference, [])
    assert not any("reference" in row for row in tables.cells(own))


def test_releases_are_shown_with_what_they_changed(tmp_path):
    row = {"workload": "gemm", "framework": "jax", "project": "jaxlib", "version": "0.4.33", "status": "ok"}
    found = tables.releases(made_sources(tmp_path, {}, {"releases": [{**row, "change": "slower"}]}))
    assert [(one["version"], one["change"], one["reference"]) for one in found] == [("0.4.33", "slower", True)]
