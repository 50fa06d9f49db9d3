"""Verdicts and sentences of the audits, from figures that a test chooses."""

import copy
import json

import pytest

from audits.made import FENCES, INDEPENDENT, MUTANTS
from stackwars.study.audits import audit_entries, report
from stackwars.study.audits.audit_entries import Audits


@pytest.mark.parametrize("broken", ["residual", "dropped"])
def test_fences(broken):
    entry = report.judge_fences([FENCES])
    assert entry["verdict"] == "pass"
    assert entry["detail"].endswith("at most 0.5 % of a call is left")
    bad = {**FENCES, "framework": "torch_xla", "ok": {**FENCES["ok"], broken: False}}
    entry = report.judge_fences([FENCES, bad])
    assert entry["verdict"] == "fail"
    assert entry["detail"].endswith(f"failed: torch_xla on cpu: {broken}")


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
