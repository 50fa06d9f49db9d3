"""The accepted runs, and the tables of the reference that are made from all of them."""

import json
from pathlib import Path

import pytest

from made_tables import accepted, cell, checked
from measured import config
from stackwars.measure import PROTOCOL
from stackwars.study.results import runs, tables
from stackwars.study.results.runs import DamagedRunError


@pytest.fixture
def folder(tmp_path):
    """A reference of two runs."""
    for name, processor in (("2026-02-01T0000", "b"), ("2026-01-01T0000", "a")):
        accepted(tmp_path / "runs" / name, processor, cells=[cell("jax", steady_ms=1.0)])
    return tmp_path


def test_runs_are_read_oldest_first_with_their_kind_of_machine(folder):
    found = runs.read(folder)
    assert [run.identity for run in found] == ["2026-01-01T0000", "2026-02-01T0000"]
    assert found[0].machine.startswith("a, ") and found[0].table("cells")["steady_ms"][0] == 1.0
    assert runs.read(folder / "nothing") == []


def test_kind_of_machine_has_its_cache_and_peak_for_a_host_may_hide_the_processor():
    machine = {"cpu_model": "A CPU", "cores": 8}
    known = {"machine": machine, "peaks": {"cpu": {"last_cache_bytes": 32e6}, "tpu": {}}}
    assert runs.kind(known) == "A CPU, 8 cores, 32 MB of cache"
    known["peaks"]["cuda"] = {"device_kind": "A GPU"}
    assert runs.kind(known) == "A CPU, 8 cores, 32 MB of cache, A GPU"
    assert runs.kind({}) == "unknown processor, ? cores, unknown cache"
    assert runs.identity({"date_utc": "2026-01-02T03:04:05+00:00"}) == "2026-01-02T0304"


@pytest.mark.parametrize(("rates", "kinds"), [((188, 218), 1), ((218, 468), 2), ((462, 468), 1)])
def test_machines_that_run_at_different_speeds_are_different_kinds(rates, kinds):
    peaks = [{"cpu": {"last_cache_bytes": 34e6, "gflop_per_s": rate}} for rate in rates]
    assert len({runs.kind({"machine": {"cores": 2}, "peaks": one}) for one in peaks}) == kinds


def test_kinds_are_named_by_their_rates_unless_two_have_one():
    kinds = [
        f"{name}, 2 cores, {low} to 512 GFLOP/s" for name, low in (("A CPU", 362), ("A CPU", 181), ("B", 181))
    ]
    assert list(runs.short_names(kinds[:2]).values()) == ["362 to 512 GFLOP/s", "181 to 512 GFLOP/s"]
    assert list(runs.short_names(kinds).values())[1:] == ["A CPU, 181 to 512 GFLOP/s", "B, 181 to 512 GFLOP/s"]
    same = [kinds[0], kinds[0].replace("2 cores", "4 cores")]
    assert list(runs.short_names(same).values()) == same
    assert runs.short_names([""]) == {"": ""}


@pytest.mark.parametrize("name", ["cpu_family", "cpu_model_number", "cpu_stepping", "cpu_flags_digest"])
def test_processors_that_differ_in_their_numbers_are_different_kinds(name):
    assert runs.kind({"machine": {name: 1}}) != runs.kind({"machine": {name: 2}})


def test_runs_of_an_earlier_protocol_are_not_read(folder):
    accepted(folder / "runs" / "2025-01-01T0000", protocol=PROTOCOL - 1, values=[checked("jax")])
    assert [run.identity for run in runs.read(folder)] == ["2026-01-01T0000", "2026-02-01T0000"]


def _without_cells(run: Path) -> None:
    digests = json.loads((run / runs.MANIFEST).read_text())
    del digests["cells.csv"]
    (run / runs.MANIFEST).write_text(json.dumps(digests))


def _cut(run: Path) -> None:
    whole = (run / "cells.csv").read_bytes()
    (run / "cells.csv").write_bytes(whole[: len(whole) // 2])


MANIFEST = runs.MANIFEST
DAMAGES = [
    (_cut, "cells.csv: expected .* digest"),
    (lambda run: (run / "context.json").unlink(), "context.json: expected .* got no file"),
    (_without_cells, f"{MANIFEST}: expected the digest .* got none of cells.csv"),
    (lambda run: (run / runs.CONFIRMATION).write_text("{}"), f"{runs.CONFIRMATION}: .* digest no file, got"),
    (lambda run: (run / MANIFEST).unlink(), f"{MANIFEST}: expected"),
    *(
        (lambda run, text=text: (run / MANIFEST).write_text(text), f"{MANIFEST}: expected")
        for text in ("", "{", "[1, 2]", "7", "null")
    ),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_a_damaged_run_is_refused_by_the_name_of_the_file(folder, damage, message):
    run = folder / "runs" / "2026-01-01T0000"
    assert len(runs.read(folder)) == 2
    damage(run)
    with pytest.raises(DamagedRunError, match=f"^{run}/{message}.*; fix: git checkout {run}$"):
        runs.read(folder)


def test_values_are_the_newest_of_each_program_compiler_and_size(tmp_path):
    older = [checked("jax", "wrong"), checked("torch_xla", "crash"), checked("jax", variant="odd1")]
    newer = [checked("jax"), checked("jax", "wrong", variant="odd2")]
    every = [accepted(tmp_path / name, values=rows) for name, rows in (("a", older), ("b", newer))]
    table = tables.reference_tables(config(), every)["values"]
    assert [tuple(row) for row in table[["framework", "variant", "status", "run"]].to_numpy()] == [
        ("torch_xla", "base", "crash", "a"), ("jax", "odd1", "ok", "a"),
        ("jax", "base", "ok", "b"), ("jax", "odd2", "wrong", "b"),
    ]  # fmt: skip


def test_context_is_of_the_newest_run_of_the_first_study_and_lists_all(tmp_path):
    studies = {"a": ("tables",), "b": ("tables", "matrix"), "c": ("matrix",)}
    every = [accepted(tmp_path / name, name, measured) for name, measured in studies.items()]
    found = tables.reference_context(config(), every)
    assert (found["origin"], found["run"], found["machine"]["cpu_model"]) == ("reference", "b", "b")
    assert [(one["run"], one["machine"]) for one in found["runs"]] == [(name, name) for name in "abc"]
    assert {tuple(one["devices"]) for one in found["runs"]} == {("cpu",)}
    assert tables.reference_context(config(), every[2:])["run"] == "c"
