"""The report of a folder of results, as the workflow's rule makes it, and the verdicts and sentences in it."""

import copy
import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from made_tables import cell, pairs
from measured import GEMM, config, process, write_cell, write_results
from running import job_file
from stackwars.study.audits import audit_entries, report
from stackwars.study.audits.audit_entries import Audits
from stackwars.study.results import runs, tables
from stackwars.study.results.folder import REFERENCE, Folder

TORCH = replace(GEMM, framework="torch_xla")
ROUNDS = 6
FENCES = {
    "framework": "jax", "device": "cpu", "call_ms": 20.0, "again_ms": 0.01, "fetch_ms": 0.1,
    "dropped_ms": 0.1, "floor_ms": 9.0, "ok": {"residual": True, "dropped": True},
}  # fmt: skip
MUTANTS = {
    "framework": "jax", "device": "cpu-1t", "floor_ms": 9.0, "ok": True,
    "processes": [
        {"mutant": "honest", "rejected_by": [], "problems": []},
        {"mutant": "no_fence", "rejected_by": ["floor"], "problems": ["floor: 100%"]},
    ],
}  # fmt: skip
INDEPENDENT = {
    "framework": "jax", "device": "cpu-1t",
    "workloads": [{"workload": "ffn", "harness": "pyperf 2.10.0", "ratio": 1.01, "ok": True,
                   "ours_ms": [101.0], "third_party_ms": [100.0]}],
}  # fmt: skip


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
    command = ["--config", job_file("config", config().step_document(), folder), "--results", str(folder)]
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
        assert "torch_xla ffn on cpu" in found[name]["consequence"]


def test_no_cell_is_no_pass():
    empty = table(status="oom").iloc[1:]
    assert {entry["verdict"] for entry in report.counts(empty, "highest")} == {"not run"}


@pytest.mark.parametrize("broken", ["residual", "dropped"])
def test_fences(broken):
    entry = report.judge_fences([FENCES])
    assert entry["verdict"] == "pass"
    assert entry["detail"].endswith("at most 0.5 % of a call is left")
    bad = {**FENCES, "framework": "torch_xla", "ok": {**FENCES["ok"], broken: False}}
    entry = report.judge_fences([FENCES, bad])
    assert entry["verdict"] == "fail"
    assert entry["detail"].endswith(f"failed: torch_xla on cpu: {broken}")
    assert entry["consequence"] == "Times of torch_xla on cpu can leave out work that is still running."


@pytest.mark.parametrize(("name", "judge", "figure"), [
    ("fences", report.judge_fences, "by_framework"), ("mutants", report.judge_mutants, "by_framework"),
    ("independent", report.judge_independent, "by_framework"), ("power", report.power_entry, "trials"),
])  # fmt: skip
def test_the_committed_entries_follow_from_their_figures(name, judge, figure):
    [known] = [one for one in audit_entries.read(REFERENCE / "audits.json").entries if one["id"] == name]
    # An audit of trials that failed had its consequence in its entry until `resolution` took it over.
    assert judge(known["figures"][figure]) == known | {"consequence": ""}


HONEST, MUTANT = MUTANTS["processes"]


@pytest.mark.parametrize(
    ("processes", "verdict", "said"),
    [
        ([HONEST, MUTANT], "pass", "1 of 1 mutants rejected, and 0 of 1 honest processes"),
        ([HONEST, MUTANT | {"rejected_by": [], "problems": []}], "fail", "wrong: no_fence of jax"),
        (
            [HONEST | {"rejected_by": ["floor"], "problems": ["floor: 10%"]}, MUTANT],
            "fail", "1 of 1 honest processes; wrong: jax: floor: 10%",
        ),
        ([HONEST], "fail", ""),  # honest processes without a mutant show nothing
    ],
)  # fmt: skip
def test_mutants_are_rejected_and_honest_processes_are_not(processes, verdict, said):
    entry = report.judge_mutants([{**MUTANTS, "processes": processes}])
    assert entry["verdict"] == verdict
    assert said in entry["detail"]


def test_independent_harness():
    assert report.judge_independent([INDEPENDENT])["verdict"] == "pass"
    apart = copy.deepcopy(INDEPENDENT)
    apart["workloads"][0] |= {"ratio": 1.07, "ok": False}
    entry = report.judge_independent([INDEPENDENT, apart])
    assert entry["verdict"] == "fail"
    assert "ffn in jax 1.070 times pyperf 2.10.0's" in entry["detail"]
    assert entry["consequence"] == "Times are off: ffn in jax by 7 %."


def test_nothing_is_not_a_pass():
    nothing = [report.judge_fences([]), report.judge_mutants([]), report.judge_independent([])]
    assert {entry["verdict"] for entry in nothing} == {"not run"}


def test_document_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "audits.json"
    audits = Audits([report.judge_fences([FENCES])], "2026-01-01T0304", ("abc", "def"), "A CPU, 2 cores")
    audit_entries.write(audits, path)
    found = audit_entries.read(path)
    assert (found.run, found.revisions, found.machine) == (audits.run, audits.revisions, audits.machine)
    assert found.entries[0] == audits.entries[0]
    assert [entry["id"] for entry in found.entries] == list(audit_entries.AUDITS)
    assert {entry["verdict"] for entry in found.entries[1:]} == {"not run"}
    none = audit_entries.read(tmp_path / "none.json")
    assert ({entry["verdict"] for entry in none.entries}, none.run) == ({"not run"}, "")
    path.write_text(json.dumps({"schema": 7, "audits": []}))
    with pytest.raises(ValueError, match="expected audits of schema 3, got 7"):
        audit_entries.read(path)


@pytest.mark.parametrize(
    ("judged", "run", "said"),
    [
        ({"fences": "pass", "aa": "pass"}, "one", "2 of 2 audits of this run passed."),
        (
            {"fences": "pass", "aa": "fail", "power": "fail"},
            "one",
            "2 of 3 audits of this run failed: A/A, Power.",
        ),
        (
            {"aa": "pass"},
            "two",
            "The harness was not audited with this run; 1 of 1 audits of the run one passed.",
        ),
    ],
)
def test_a_reader_hears_which_audits_failed_and_whose_they_are(judged, run, said):
    entries = [audit_entries.entry(name, verdict, {}, "x") for name, verdict in judged.items()]
    entries.append(audit_entries.not_run_entry("independent"))
    assert Audits(entries, "one").state(run) == said


def test_a_reader_hears_what_follows_from_a_failure():
    failed = audit_entries.entry("independent", "fail", {}, "x", "Times are off: ffn in jax by 7 %.")
    passed = audit_entries.entry("fences", "pass", {}, "x", "Times leave out work.")
    assert Audits([failed, passed], "one").state("one") == (
        "1 of 2 audits of this run failed: Independent harness. Times are off: ffn in jax by 7 %."
    )
