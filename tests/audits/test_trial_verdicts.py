"""Verdicts on trials, from rounds that a test makes up."""

import json

from audits.made import pair, pairs
from stackwars.study.audits import trials


def test_equal_sides_pass_with_rates_by_framework_and_in_all():
    entry = trials.aa(pairs())
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
    entry = trials.aa(pairs(ratio=1.03))
    assert entry["verdict"] == "fail"
    assert entry["figures"]["wrong"][0] == "too many claims of jax"


def test_one_framework_alone_can_fail():
    good, bad = pairs(noise=0.02), pairs(noise=0.002, ratio=1.01)
    entry = trials.aa(
        [one for one in good if one["subject"] == "jax"] + [one for one in bad if one["subject"] != "jax"]
    )
    assert "too many intervals of torch_xla" in entry["figures"]["wrong"]
    assert not [one for one in entry["figures"]["wrong"] if "jax" in one]


def test_known_differences_are_found():
    entry = trials.power(pairs(noise=0.005))
    assert entry["verdict"] == "pass", entry["detail"]
    assert [size["percent"] for size in entry["figures"]["sizes"]] == [5, 3]
    assert "5 % is found in 36 of 36 trials (100 %, 95 % interval 90 to 100 %)" in entry["detail"]
    assert json.loads(json.dumps(entry))["detail"] == entry["detail"]


def test_noise_hides_a_difference():
    entry = trials.power(pairs(noise=0.08))
    assert entry["verdict"] == "fail"
    assert entry["figures"]["wrong"] == ["5 % is found too seldom", "3 % is found too seldom"]


def mixed(later: float = 1.6) -> dict:
    names = {"kind": "mixed", "subject": "torch_xla", "baseline": "jax", "trials": 2, "noise": 0.004}
    found = [pair(workload=name, ratio=1.6, **names) for name in ("gemm", "mha", "layernorm")]
    for one in found:
        one["ratios"][5:] = [later / 1.6 * ratio for ratio in one["ratios"][5:]]
    return trials.mixed(found)


def test_two_trials_of_two_frameworks_agree():
    entry = mixed()
    assert entry["verdict"] == "pass", entry["detail"]
    assert [row["name"] for row in entry["figures"]["quotients"]] == [
        "torch_xla-jax-gemm", "torch_xla-jax-mha", "torch_xla-jax-layernorm"
    ]  # fmt: skip


def test_trials_that_differ_fail():
    assert mixed(later=1.75)["verdict"] == "fail"


def test_nothing_is_no_pass():
    nothing = [trials.aa([]), trials.power([]), trials.mixed([])]
    assert {entry["verdict"] for entry in nothing} == {"not run"}
