"""The report of a folder of results, as the workflow's rule makes it."""

import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from audits.made import FENCES, MUTANTS, pairs
from made_tables import cell
from measured import GEMM, config, process, write_cell, write_results
from running import job_file
from stackwars.study.audits import audit_entries, report
from stackwars.study.results import runs, tables
from stackwars.study.results.folder import Folder

TORCH = replace(GEMM, framework="torch_xla")
ROUNDS = 6


@pytest.fixture
def folder(tmp_path):
    """Six rounds of the GEMM in both frameworks, and the tables from them."""
    write_results(tmp_path)
    output = np.arange(8, dtype=np.float32)
    for one in (GEMM, TORCH):
        results = [
            process(one, round_, steady_ms=(1.0 + 0.01 * (round_ % 3), 1.0, 1.0)) for round_ in range(ROUNDS)
        ]
        write_cell(tmp_path, results, output)
    tables.write(config(), Folder(tmp_path))
    return tmp_path


def run(folder, monkeypatch, parts: dict[str, list[dict]]) -> audit_entries.Audits:
    """Return the audits of the folder after a report of these parts."""
    files = []
    for name, found in parts.items():
        for number, figures in enumerate(found):
            path = folder / "audits" / name / "cpu" / f"{number}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(figures))
            files += ["--part", str(path)]
    command = ["--config", job_file("config", config(), folder), "--results", str(folder)]
    monkeypatch.setattr(sys, "argv", ["report", *command, *files])
    report.main()
    return audit_entries.read(folder / "audits.json")


def on_this_machine(folder, **changes: object) -> list[dict]:
    """Return pairs that were measured on the machine of the run."""
    machine = json.loads((folder / "context.json").read_text())["machine"] | changes
    return [{**one, "machine": machine} for one in pairs(noise=0.004)]


def test_report_reads_what_there_is_and_names_what_is_missing(folder, monkeypatch):
    audits = run(folder, monkeypatch, {"fences": [FENCES], "mutants": [MUTANTS]})
    found = {entry["id"]: entry for entry in audits.entries}
    assert list(found) == list(audit_entries.AUDITS)
    missing = {"aa", "power", "mixed", "independent"}
    assert {key for key, entry in found.items() if entry["verdict"] == "not run"} == missing
    assert found["fences"]["verdict"] == found["mutants"]["verdict"] == "pass"
    counted = ("floor", "clock", "agreement", "first_run")
    assert {found[name]["detail"] for name in counted} == {"2 cells, 0 refused"}
    assert {found[name]["verdict"] for name in counted} == {"pass"}


def test_audits_name_the_run_the_revision_and_the_kind_of_machine(folder, monkeypatch):
    every = on_this_machine(folder)
    every[0] = {**every[0], "revisions": ["def"]}
    audits = run(folder, monkeypatch, {"same": every})
    context = json.loads((folder / "context.json").read_text())
    assert (audits.run, audits.machine) == (runs.identity(context), runs.kind(context))
    assert audits.revisions == ("abc", "def")
    found = {entry["id"]: entry["verdict"] for entry in audits.entries}
    assert (found["aa"], found["power"]) == ("pass", "pass")


def test_pairs_of_another_machine_are_refused(folder, monkeypatch):
    with pytest.raises(
        ValueError, match=r"expected an audit on the machine of the run .* got one on Other, 2 cores"
    ):
        run(folder, monkeypatch, {"same": on_this_machine(folder, cpu_model="Other")[:1]})


def table(**changes: object) -> pd.DataFrame:
    """Return two frameworks' rows of one workload; changes are of the second."""
    known = {"status_detail": None, "floor_ms": 4.0, "parity_rel_l2": 1e-7, "parity_limit": 1e-5}
    known |= {"precision": "HIGHEST", "dtype": "f32", "compiles_first": 1, "cache_hits_first": 0}
    one = cell("jax", "ffn", **known)
    return pd.DataFrame([one, {**one, "framework": "torch_xla", **changes}])


@pytest.mark.parametrize(
    ("change", "refused_by"),
    [
        ({}, []),
        ({"status": "invalid", "status_detail": "floor: 100% of the blocks are below 4 ms"}, ["floor"]),
        ({"status": "invalid", "status_detail": "wall clock: the process reports 2 s"}, ["clock"]),
        ({"status": "invalid", "status_detail": "second clock: 1 s are reported"}, ["clock"]),
        ({"parity_rel_l2": 1e-3, "status": "invalid"}, ["agreement"]),
        ({"status": "wrong", "status_detail": "1 of 128 elements wrong (the last)"}, ["agreement"]),
        ({"precision": "DEFAULT"}, ["agreement"]),
        ({"precision": "DEFAULT+HIGHEST"}, ["agreement"]),
        ({"precision": ""}, []),  # no matrix product
        ({"dtype": "bf16"}, ["agreement"]),
        ({"cache_hits_first": 1}, ["first_run"]),
        ({"compiles_first": 0}, ["first_run"]),
        ({"compiles_first": None, "cache_hits_first": None}, []),  # compiles nothing
    ],
)
def test_cells_that_the_tables_refuse_are_counted(change, refused_by):
    found = {entry["id"]: entry for entry in report.counts(table(**change), "highest")}
    assert [name for name, entry in found.items() if entry["verdict"] != "pass"] == refused_by
    for name in refused_by:
        assert "torch_xla ffn on cpu" in found[name]["detail"]


def test_no_cell_is_no_pass():
    empty = table(status="oom").iloc[1:]
    assert {entry["verdict"] for entry in report.counts(empty, "highest")} == {"not run"}
