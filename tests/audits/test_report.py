"""The report of a folder of results, as the workflow's rule makes it."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from audits.made import FENCES, MUTANTS
from measured import GEMM, config, process, write_cell, write_results
from stackwars.audits import aa, audit_entries, report
from stackwars.results import raw, tables
from stackwars.results.folder import Folder
from stackwars.workflow import job_files

TORCH = replace(GEMM, framework="torch_xla")
ROUNDS = 6


@pytest.fixture
def folder(tmp_path):
    """Six rounds of the GEMM in both frameworks, and the tables from them."""
    write_results(tmp_path)
    output = np.arange(8, dtype=np.float32)
    for cell in (GEMM, TORCH):
        results = [
            process(cell, round_, steady_ms=(1.0 + 0.01 * (round_ % 3), 1.0, 1.0)) for round_ in range(ROUNDS)
        ]
        write_cell(tmp_path, results, output)
    tables.write(config(), Folder(tmp_path))
    return tmp_path


def test_each_cell_is_an_aa_trial(folder):
    found = list(aa.trials(raw.read(config(), folder)))
    assert [trial.name for trial in found] == ["jax gemm", "torch_xla gemm"]
    assert all(trial.comparison.rounds == ROUNDS // 2 for trial in found)


def test_report_reads_what_there_is_and_names_what_is_missing(folder, monkeypatch):
    parts = []
    for name, figures in (("fences", FENCES), ("mutants", MUTANTS)):
        path = folder / "audits" / name / "cpu" / "jax.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(figures))
        parts += ["--part", str(path)]
    command = ["--config", job_files.file("config", config(), folder), "--results", str(folder)]
    monkeypatch.setattr(sys, "argv", ["report", *command, *parts])
    report.main()
    found = {entry["id"]: entry for entry in audit_entries.read(folder / "audits.json")}
    assert list(found) == list(audit_entries.AUDITS)
    assert {key for key, entry in found.items() if entry["verdict"] == "not run"} == {
        "power",
        "independent",
    }
    assert found["fences"]["verdict"] == found["mutants"]["verdict"] == "pass"
    assert found["first_run"]["figures"]["processes"] == 2 * ROUNDS
    assert found["floor"]["figures"]["processes"] == 2 * ROUNDS
    assert found["aa"]["figures"]["groups"]["run, all"]["trials"] == 2
    assert found["agreement"]["figures"]["worst"] == 0
