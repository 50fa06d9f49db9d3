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


def test_mutants():
    entry = verdicts.mutants([MUTANTS])
    assert entry["verdict"] == "pass"
    assert entry["detail"].endswith("1 of 1 mutants rejected, and 0 of 1 honest processes")


def test_mutant_that_nobody_noticed_fails():
    missed = copy.deepcopy(MUTANTS)
    missed["processes"][1] |= {"rejected_by": [], "problems": []}
    entry = verdicts.mutants([missed])
    assert entry["verdict"] == "fail"
    assert "wrong: no_fence of jax" in entry["detail"]


def test_honest_process_that_was_rejected_fails():
    refused = copy.deepcopy(MUTANTS)
    refused["processes"][0] |= {"rejected_by": ["floor"], "problems": ["floor: 10%"]}
    entry = verdicts.mutants([refused])
    assert entry["verdict"] == "fail"
    assert "1 of 1 honest processes; wrong: jax: floor: 10%" in entry["detail"]


def test_honest_processes_alone_show_nothing():
    assert verdicts.mutants([{**MUTANTS, "processes": MUTANTS["processes"][:1]}])["verdict"] == "fail"


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


def test_all_devices_have_a_rate_only_if_there_are_several():
    one, other = a_a(5), [t._replace(device="cpu-1t") for t in a_a(5)]
    assert "run, all" not in verdicts.aa(one, [])["detail"]
    assert "run, all: " in verdicts.aa(one + other, [])["detail"]


def test_power_passes_where_differences_are_found():
    entry = verdicts.power([powered()])
    assert entry["verdict"] == "pass"
    assert "5 % is found in 15 of 15 trials" in entry["detail"]


def test_power_fails_in_noise():
    assert verdicts.power([powered(noise=0.15)])["verdict"] == "fail"


def test_power_fails_where_the_estimate_is_off():
    entry = verdicts.power([powered(steps={**power.SIDES, power.side(5): 8})])
    assert entry["verdict"] == "fail"
    assert "wrong: jax, 5 %: estimate off" in entry["detail"]


def test_power_of_too_few_rounds_was_not_run():
    entry = verdicts.power([powered(count=3)])
    assert (entry["verdict"], entry["detail"]) == ("not run", "3 rounds, and a trial takes 4")


def test_power_fails_where_swapped_labels_do_not_give_the_inverse():
    entry = verdicts.power([powered(steps={**power.SIDES, power.AGAIN: 3})])
    assert entry["verdict"] == "fail"
    assert "jax, 10 %: not the inverse with the labels swapped" in entry["detail"]
    assert "estimate off" not in entry["detail"]


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


def test_without_a_document_nothing_was_run(tmp_path):
    assert {entry["verdict"] for entry in audit_entries.read(tmp_path / "none.json")} == {"not run"}


def test_document_of_another_schema_is_refused(tmp_path):
    (tmp_path / "audits.json").write_text(json.dumps({"schema": 7, "audits": []}))
    with pytest.raises(ValueError, match="expected audits of schema 2, got 7"):
        audit_entries.read(tmp_path / "audits.json")
