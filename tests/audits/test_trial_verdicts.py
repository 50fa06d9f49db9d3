"""Verdicts on trials and on the estimator, from rounds that a test makes up."""

import json
import math

import pytest

from audits.made import pair, pairs
from stackwars.audits import trial_verdicts
from stackwars.audits.depth_scaling import NAME


def test_equal_sides_pass_with_rates_by_framework_and_in_all():
    entry = trial_verdicts.aa(pairs())
    assert entry["verdict"] == "pass", entry["detail"]
    groups = entry["figures"]["groups"]
    assert {name: group["claims"]["trials"] for name, group in groups.items()} == {
        "jax": 18, "torch_xla": 18, "all": 36,
    }  # fmt: skip
    assert groups["all"]["claims"]["count"] == 3, "chance explains so many of 36"
    assert "a difference is claimed in 3 of 36 trials (8 %, 95 % interval 2 to 22 %)" in entry["detail"]
    assert "jax 0 of 18, torch_xla 3 of 18" in entry["detail"]
    assert json.loads(json.dumps(entry)) == entry


def test_a_role_that_is_slower_fails():
    entry = trial_verdicts.aa(pairs(ratio=1.03))
    assert entry["verdict"] == "fail"
    assert entry["figures"]["wrong"][0] == "too many claims of jax"


def test_one_framework_alone_can_fail():
    good, bad = pairs(noise=0.02), pairs(noise=0.002, ratio=1.01)
    entry = trial_verdicts.aa(
        [one for one in good if one["subject"] == "jax"] + [one for one in bad if one["subject"] != "jax"]
    )
    assert "too many intervals of torch_xla" in entry["figures"]["wrong"]
    assert not [one for one in entry["figures"]["wrong"] if "jax" in one]


def test_known_differences_are_found_of_layers_and_of_workloads():
    entry = trial_verdicts.power(pairs(noise=0.005))
    assert entry["verdict"] == "pass", entry["detail"]
    assert [size["percent"] for size in entry["figures"]["sizes"]] == [5, 3]
    assert "5 % is found in 4 of 4 trials" in entry["detail"]
    assert "in 36 of 36 trials (100 %, 95 % interval 90 to 100 %) of the study's workloads" in entry["detail"]
    assert json.loads(json.dumps(entry))["detail"] == entry["detail"]


def test_noise_of_the_workloads_hides_a_difference_that_layers_show():
    entry = trial_verdicts.power([*pairs(noise=0.08)[:12], *pairs(noise=0.005)[12:]])
    assert entry["verdict"] == "fail"
    assert entry["figures"]["wrong"] == [
        "5 %: found too seldom of the study's workloads",
        "3 %: found too seldom of the study's workloads",
    ]


def test_a_difference_of_another_size_fails():
    found = pairs(noise=0.005)
    found[12] = pair("more", subject="jax", workload=NAME, percent=5, ratio=1.08, trials=2, noise=0.001)
    assert trial_verdicts.power(found)["figures"]["wrong"] == ["5 %: the estimate is off"]


def mixed(more: float = 1.05, later: float = 1.6) -> dict:
    names = {"kind": "mixed", "subject": "torch_xla", "baseline": "jax", "trials": 2, "noise": 0.004}
    found = [pair(workload=name, ratio=1.6, **names) for name in ("gemm", "mha", "layernorm", NAME)]
    for one in found[:3]:
        one["ratios"][5:] = [later / 1.6 * ratio for ratio in one["ratios"][5:]]
    found.append(pair(workload=NAME, percent=5, ratio=1.6 * more, **names))
    return trial_verdicts.mixed(found)


def test_two_trials_of_two_frameworks_agree_and_differ_by_the_work_that_one_has_more():
    entry = mixed()
    assert entry["verdict"] == "pass", entry["detail"]
    assert [row["truth"] for row in entry["figures"]["quotients"]] == [1.0] * 4 + [1.05] * 2
    assert "truth 1.050" in entry["detail"]


@pytest.mark.parametrize("changed", [{"more": 1.0}, {"later": 1.75}])
def test_trials_that_differ_by_something_else_fail(changed):
    assert mixed(**changed)["verdict"] == "fail"


def agreeing(*ratios: tuple[str, float]) -> list[dict]:
    """Pairs with 20 processes whose ratios are within 1 % of these, one for each framework."""
    return [
        {"agreements": [[framework, "gemm", ratio * math.exp(0.01 * (-1) ** n)] for n in range(20)]}
        for framework, ratio in ratios
    ]


def test_alternating_loops_that_take_as_long_as_loops_in_a_row_pass():
    entry = trial_verdicts.judge_estimator(agreeing(("jax", 1.004)), agreeing(("numpy", 0.995)))
    assert entry["verdict"] == "pass"
    assert entry["detail"].startswith(
        "alternating loops over loops in a row: jax 1.004 (0.999 to 1.009) in 20 processes"
    )
    assert "numpy 0.995" in entry["detail"]
    assert entry["detail"].endswith("farthest from 1: gemm in numpy 0.995")


@pytest.mark.parametrize(
    ("many", "brief", "verdict"),
    [
        ([("jax", 1.0), ("torch_xla", 1.02)], [], "fail"),
        ([("jax", 1.012)], [], "fail"),
        ([("jax", 1.0)], [("numpy", 1.05)], "fail"),
        ([("jax", 1.0)], [("numpy", 1.012)], "pass"),  # its few processes do not exclude 1.01
    ],
)
def test_a_framework_that_is_off_fails(many, brief, verdict):
    entry = trial_verdicts.judge_estimator(agreeing(*many), agreeing(*brief))
    assert entry["verdict"] == verdict
    assert ("off by more than 1 %" in entry["detail"]) == (verdict == "fail")


def test_nothing_is_no_pass():
    nothing = [trial_verdicts.aa([]), trial_verdicts.power([]), trial_verdicts.mixed([])]
    nothing.append(trial_verdicts.judge_estimator([], []))
    assert {entry["verdict"] for entry in nothing} == {"not run"}
