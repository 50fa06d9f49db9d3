"""A run joins the reference: its tables beside the others', its cells in place of older ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from stackwars.audits import audit_entries
from stackwars.measure import PROTOCOL, documents
from stackwars.results import runs
from stackwars.study import cells, printed
from stackwars.study.config import load
from stackwars.workflow import accept

CELLS = ("cpu/jax/gemm/cell.json", "cpu/torch_xla/gemm/cell.json")
CONTEXT = {
    "preset": "full",
    "sizes": {"gemm": cells.sizes(load(), "gemm")},
    "protocol": PROTOCOL,
    "date_utc": "2026-01-02T03:04:05+00:00",
    "machine": {"cpu_model": "A", "cores": 2},
    "peaks": {"cpu": {"last_cache_bytes": 32_000_000}},
}


def full(folder: Path, cells_=CELLS, text: str = "new", dirty=False, **context) -> Path:
    """A full run with these cells and tables of one word; dirty: of uncommitted sources."""
    for name in accept.OF_A_RUN:
        folder.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    (folder / "context.json").write_text(json.dumps(CONTEXT | context))
    for name in cells_:
        (folder / name).parent.mkdir(parents=True)
        process = {"source": {"git_dirty": dirty}}
        (folder / name).write_text(json.dumps({"text": text, "processes": [process]}))
    return folder


def test_a_run_s_tables_are_kept_by_the_time_of_the_run(tmp_path):
    reference = tmp_path / "reference"
    for day in ("01", "02"):
        run = full(tmp_path / day, date_utc=f"2026-01-{day}T03:04:05+00:00", text=day)
        accept.keep_run(run, reference, accept.check(run))
    found = runs.read(reference)
    assert [one.identity for one in found] == ["2026-01-01T0304", "2026-01-02T0304"]
    assert (found[0].folder / "ratios.csv").read_text() == "01"
    assert found[0].machine == "A, 2 cores, 32 MB of cache"
    assert not (found[0].folder / "calls.csv").exists()


def test_the_programs_that_the_paper_lists_are_kept_with_the_run(tmp_path):
    run, reference = full(tmp_path / "run"), tmp_path / "reference"
    for workload in ("newton", "gemm"):
        for framework in ("jax", "torch_xla"):
            path = run / "cpu" / framework / workload / printed.PROGRAM
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(framework)
            path.with_name(printed.OPTIMISED).write_text("HLO")
    kept = accept.keep_run(run, reference, accept.check(run))
    assert {p.relative_to(kept).parts[1:3] for p in kept.rglob(printed.PROGRAM)} == {
        ("jax", "newton"), ("torch_xla", "newton"),
    }  # fmt: skip
    assert len(list(kept.rglob(printed.OPTIMISED))) == 2
    only_gemm = {**load(), "workloads": ["gemm"]}
    files = printed.listed_elsewhere(only_gemm, reference / "runs")
    assert {file.read_text() for file in files["newton"].values()} == {"jax", "torch_xla"}
    # The reference itself has the programs of one of its runs alone, which was another.
    whole = {**load(), "results": "reference"}
    assert set(printed.listed_elsewhere(whole, reference / "runs")) == {"newton"}
    (kept / "cpu" / "jax" / "newton" / printed.PROGRAM).unlink()
    assert printed.listed_elsewhere(only_gemm, reference / "runs") == {}
    everything = {**load(), "whole": ["beyond"]}
    assert "newton" not in printed.listed_elsewhere(everything, reference / "runs")


def test_measured_files_are_replaced_by_those_of_a_run_that_has_them_all(tmp_path):
    reference = full(tmp_path / "reference", text="old")
    (reference / "runs" / "one").mkdir(parents=True)
    (reference / "runs" / "one" / "ratios.csv").write_text("kept")
    (reference / "faults.json").write_text("kept")
    assert accept.keep_measured(full(tmp_path / "part", CELLS[:1]), reference) == 0
    assert documents.read(reference / CELLS[0])["text"] == "old"
    whole = full(tmp_path / "all")
    (whole / CELLS[0]).with_name(printed.OPTIMISED).write_text("HLO")
    assert accept.keep_measured(whole, reference) == 3
    assert (reference / CELLS[0]).with_name(printed.OPTIMISED).read_text() == "HLO"
    assert documents.read(reference / CELLS[0])["text"] == "new"
    assert (reference / "runs" / "one" / "ratios.csv").read_text() == "kept"
    assert (reference / "faults.json").read_text() == "kept"
    assert not (reference / "ratios.csv").exists()  # made again, from all runs


def test_a_run_of_another_protocol_is_not_combined(tmp_path):
    reference = tmp_path / "reference"
    accept.keep_run(full(tmp_path / "old"), reference, CONTEXT)
    context = reference / "runs" / "2026-01-02T0304" / "context.json"
    context.write_text(json.dumps(CONTEXT | {"protocol": PROTOCOL - 1}))
    assert runs.read(reference) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"dirty": True}, rf"expected a run of committed sources; {CELLS[0]} and 1 more"),
        ({"preset": "smoke"}, "expected a run of the preset full; came one of smoke"),
        (
            {"sizes": {"gemm": {"m": 1}}},
            "expected the shapes of the accepted run .*; came others of gemm",
        ),
        ({"date_utc": "never"}, "that has measured or compiled something"),
        ({"protocol": PROTOCOL - 1}, f"expected a run of version {PROTOCOL} of the measuring"),
        ({"protocol": None}, "came None"),
    ],
)
def test_what_cannot_be_accepted_is_refused(tmp_path, changes, told):
    with pytest.raises(accept.AcceptError, match=told):
        accept.check(full(tmp_path / "run", **changes))


def test_audits_that_a_run_was_made_without_stay_and_say_whose_they_are(tmp_path):
    reference = full(tmp_path / "reference", text="old")
    path = reference / "audits.json"
    audit_entries.write([audit_entries.entry("fences", "pass", {}, "told")], path)
    for day in ("03", "04"):
        run = full(tmp_path / day, date_utc=f"2026-01-{day}T03:04:05+00:00")
        assert accept.keep_measured(run, reference) == 2
        shutil.copyfile(run / "context.json", reference / "context.json")  # made by add_tables
        assert audit_entries.run_of(path) == "2026-01-02T0304"
        assert audit_entries.read(path)[0]["detail"] == "told"
    audit_entries.write([], run / "audits.json")
    assert accept.keep_measured(run, reference) == 3
    assert audit_entries.run_of(path) == ""


def test_the_forms_that_a_run_did_not_make_stay(tmp_path):
    run, reference = full(tmp_path / "run"), full(tmp_path / "reference", text="old")
    for folder, frameworks in ((run, ["jax"]), (reference, ["jax", "torch_inductor"])):
        for framework in frameworks:
            forms = folder / "cpu" / framework / "ffn" / "forms"
            forms.mkdir(parents=True)
            (forms / "graph.txt.gz").write_text(folder.name)
            (forms.parent / "stablehlo.mlir.gz").write_text(folder.name)
    accept.keep_measured(run, reference)
    kept = {
        str(path.relative_to(reference)): path.read_text()
        for path in reference.glob("cpu/*/ffn/**/*.gz")
    }
    assert kept == {
        "cpu/jax/ffn/forms/graph.txt.gz": "run",
        "cpu/jax/ffn/stablehlo.mlir.gz": "run",
        "cpu/torch_inductor/ffn/forms/graph.txt.gz": "reference",
        "cpu/torch_inductor/ffn/stablehlo.mlir.gz": "reference",
    }


def test_what_was_set_aside_is_no_result(tmp_path):
    run, reference = full(tmp_path / "run"), tmp_path / "reference"
    aside = run / "damaged" / "cpu" / "numpy" / "gemm" / "cell.json"
    aside.parent.mkdir(parents=True)
    aside.write_text("cut o")
    accept.check(run)
    assert accept.keep_measured(run, reference) == 2
    assert not (reference / "damaged").exists()


def test_a_replay_of_uncommitted_sources_is_refused(tmp_path):
    run = full(tmp_path / "run")
    path = run / "replay" / "cpu" / "iree" / "gemm" / "replay.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"processes": [{"source": {"git_dirty": True}}]}))
    with pytest.raises(accept.AcceptError, match=r"replay\.json and 0 more"):
        accept.check(run)


def test_a_run_without_its_tables_is_refused(tmp_path):
    run = full(tmp_path / "run")
    (run / "split.csv").unlink()
    with pytest.raises(accept.AcceptError, match=r"split\.csv missing: make it with: make paper"):
        accept.check(run)


def test_tables_that_are_too_large_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(accept, "MOST_BYTES", 10)
    with pytest.raises(accept.AcceptError, match="expected at most 10 bytes of tables"):
        accept.keep_run(full(tmp_path / "run"), tmp_path / "reference", CONTEXT)
