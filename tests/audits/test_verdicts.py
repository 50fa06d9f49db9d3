"""Verdicts and sentences of the audits, from figures that a test chooses."""

import copy
import json
import re

import pytest

from audits.made import FENCES, INDEPENDENT, MUTANTS, a_a, powered
from stackwars.audits import audit_entries, power, verdicts


@pytest.mark.parametrize("broken", ["residual", "depth_scaling", "dropped"])
def test_fences(broken):
    entry = verdicts.fences([FENCES])
    assert entry["verdict"] == "pass"
    assert (
        "at most 0.5 % of a call is left; twice and four times the work takes 2.02 and 3.96" in entry["detail"]
    )
    bad = {**FENCES, "framework": "torch_xla", "ok": {**FENCES["ok"], broken: False}}
    entry = verdicts.fences([FENCES, bad])
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
    entry = verdicts.mutants([{**MUTANTS, "processes": processes}])
    assert entry["verdict"] == verdict
    assert said in entry["detail"]


@pytest.mark.parametrize(
    ("figures", "verdict", "said"),
    [
        ({}, "pass", "5 % is found in 15 of 15 trials"),
        ({"noise": 0.15}, "fail", ""),
        ({"steps": {**power.SIDES, power.side(5): 8}}, "fail", "wrong: jax, 5 %: estimate off"),
        ({"count": 3}, "not run", "3 rounds, and a trial takes 4"),
        (
            {"steps": {**power.SIDES, power.AGAIN: 3}},
            "fail", "jax, 10 %: not the inverse with the labels swapped",
        ),
    ],
)  # fmt: skip
def test_power_passes_if_differences_are_found_with_their_size_both_ways(figures, verdict, said):
    entry = verdicts.power([powered(**figures)])
    assert entry["verdict"] == verdict
    assert said in entry["detail"]
    assert "swapped" not in said or "estimate off" not in entry["detail"]


def test_same_against_the_same_passes_by_device_and_in_all():
    entry = verdicts.aa(a_a(60), [powered()])
    assert entry["verdict"] == "pass"
    assert list(entry["figures"]["groups"]) == [
        "run, cpu",
        "run, all",
        "interleaved depth scaling, jax",
    ]
    assert len(entry["figures"]["trials"]) == 60


def test_size_of_a_difference_that_is_not_there_is_judged_of_interleaved_runs():
    apart = [t._replace(comparison=t.comparison._replace(ratio=1.1)) for t in a_a(60)]
    assert verdicts.aa(apart, [powered()])["verdict"] == "pass"
    noisy = powered(noise=0.05)["aa"] | {"ok_claims": True}
    entry = verdicts.aa(a_a(60), [powered(), {"framework": "torch_xla", "aa": noisy}])
    assert (entry["verdict"], entry["figures"]["small"]) == ("fail", False)
    assert "interleaved depth scaling, torch_xla: " in entry["detail"]


def test_same_against_the_same_fails_where_differences_are_claimed():
    entry = verdicts.aa(a_a(5, claimed=15), [])
    assert entry["verdict"] == "fail"
    assert len(entry["figures"]["claimed"]) >= 15
    assert re.search(r"run, cpu: \d\d of 20 claimed", entry["detail"])


def test_independent_harness():
    assert verdicts.independent([INDEPENDENT])["verdict"] == "pass"
    apart = copy.deepcopy(INDEPENDENT)
    apart["workloads"][0] |= {"ratio": 1.07, "ok": False}
    entry = verdicts.independent([INDEPENDENT, apart])
    assert entry["verdict"] == "fail"
    assert "ffn in jax 1.070 times pyperf 2.10.0's" in entry["detail"]


def test_nothing_is_not_a_pass():
    nothing = [
        *(verdicts.fences([]), verdicts.mutants([]), verdicts.aa([], [])),
        *(verdicts.power([]), verdicts.independent([])),
    ]
    assert {entry["verdict"] for entry in nothing} == {"not run"}


def test_document_is_read_as_it_was_written(tmp_path):
    audits = [verdicts.fences([FENCES])]
    audit_entries.write(audits, tmp_path / "audits.json")
    found = audit_entries.read(tmp_path / "audits.json")
    assert found[0] == audits[0]
    assert [entry["id"] for entry in found] == list(audit_entries.AUDITS)
    assert {entry["verdict"] for entry in found[1:]} == {"not run"}
    assert {entry["verdict"] for entry in audit_entries.read(tmp_path / "none.json")} == {"not run"}
    (tmp_path / "audits.json").write_text(json.dumps({"schema": 7, "audits": []}))
    with pytest.raises(ValueError, match="expected audits of schema 2, got 7"):
        audit_entries.read(tmp_path / "audits.json")
