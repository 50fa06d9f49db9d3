"""Trials of simulated rounds, where the truth is known, and the verdicts on them."""

import json
import math

import pytest

from made_tables import pair, pairs
from stackwars.core.ratio import LogRatio
from stackwars.study.audits.audit_entries import resolution
from stackwars.study.audits.report import aa, mixed, mixed_entry, power, rate, trials, unlikely


def test_trials_are_disjoint_rounds_in_the_order_of_time():
    one = pair(trials=2, name="a", device="cpu-1t")
    every = trials([one | {"ratios": [*one["ratios"], 9.0]}, pair(trials=1, name="b", device="cpu-1t")])
    assert [trial.pair["name"] for trial in every] == ["a", "b", "a"]
    assert [trial.rounds for trial in every if trial.pair["name"] == "a"] == [
        one["ratios"][:5],
        one["ratios"][5:],
    ]
    assert trials([pair(rounds=1)]) == [], "one round has no interval"
    second = every[-1].record()
    assert (second["workload"], second["device"], second["subject"], second["trial"]) == (
        "gemm",
        "cpu-1t",
        "jax",
        1,
    )
    assert second["low"] < second["ratio"] < second["high"]
    assert second["ratio"] == pytest.approx(math.prod(second["rounds"]) ** (1 / 5))


def test_intervals_of_noisy_pairs_miss_at_the_nominal_rate_among_quiet_ones():
    noisy = []
    for seed in range(150):
        quiet = [pair(name=name, noise=0.01, workload=name, seed=seed) for name in ("ffn", "mha", "conv")]
        found = trials([pair(name="noisy", noise=0.12, seed=seed), *quiet])
        noisy += [trial for trial in found if trial.pair["name"] == "noisy"]
    missed = sum(trial.excludes_one for trial in noisy)
    assert len(noisy) == 450 and 0.02 <= missed / len(noisy) <= 0.08
    assert sum(trial.claimed for trial in noisy) <= missed


def test_trials_of_two_devices_are_two_runs():
    cpu, one_core = (pair(device=device, ratio=ratio) for device, ratio in (("cpu", 1.0), ("cpu-1t", 1.5)))
    levels = [[trial.level for trial in trials(some)] for some in ([cpu], [one_core], [cpu, one_core])]
    assert sorted(levels[2]) == sorted(levels[0] + levels[1])


def test_undisturbed_series_on_the_other_side_of_one_prevent_a_claim():
    slower = pair(ratio=1.2)
    assert {trial.verdict for trial in trials([slower])} == {"slower"}
    contrary = {**slower, "undisturbed": [1 / one for one in slower["undisturbed"]]}
    assert not any(trial.claimed for trial in trials([contrary]))
    # Rounds without a series say nothing of the undisturbed ratio.
    series = [None if number % 5 >= 2 else ratio for number, ratio in enumerate(slower["undisturbed"])]
    first = trials([{**slower, "undisturbed": series}])[0]
    assert first.undisturbed == pytest.approx(math.log(series[0] * series[1]) / 2)


def test_chance_explains_two_of_ten_and_not_five():
    found = [unlikely(rate(count, 10), 0.05, "greater") for count in (2, 5)]
    assert found == [False, True]
    assert [unlikely(rate(count, 7), 0.95, "less") for count in (6, 4)] == [False, True]


def test_equal_sides_pass_with_rates_by_framework_and_in_all():
    entry = aa(pairs())
    assert entry["verdict"] == "pass", entry["detail"]
    groups = entry["figures"]["groups"]
    assert {name: group["claims"]["trials"] for name, group in groups.items()} == {
        "jax": 18, "torch_xla": 18, "cpu": 36, "all": 36,
    }  # fmt: skip
    total = groups["all"]["claims"]["count"]
    assert f"a difference is claimed in {total} of 36 trials" in entry["detail"]
    assert json.loads(json.dumps(entry)) == entry


def test_a_slower_role_fails_and_so_does_one_framework_alone():
    entry = aa(pairs(ratio=1.03))
    assert (entry["verdict"], entry["figures"]["wrong"][0]) == ("fail", "too many claims of jax")
    assert resolution({"aa": entry}).startswith("One run does not resolve differences below: ")
    good, bad = pairs(noise=0.02), pairs(noise=0.002, ratio=1.01)
    wrong = aa([one if one["subject"] == "jax" else other for one, other in zip(good, bad, strict=True)])
    assert "too many intervals of torch_xla" in wrong["figures"]["wrong"]
    assert "jax" not in " ".join(wrong["figures"]["wrong"])


def test_the_detectable_difference_is_found_in_four_of_five_trials_whatever_the_noise():
    for noise in (0.005, 0.08):
        entry = power(
            [{**one, "name": f"{one['name']} {seed}"} for seed in range(8) for one in pairs(noise, seed=seed)]
        )
        assert entry["verdict"] == "pass", entry["detail"]
        assert 0.73 <= entry["figures"]["found"]["all"]["rate"] <= 0.87
        assert json.loads(json.dumps(entry)) == entry


def test_a_difference_is_not_found_if_the_undisturbed_series_stay_below_one():
    one = pair()
    assert any(trial.detection()["found"] for trial in trials([one]))
    contrary = {**one, "undisturbed": [ratio / 2 for ratio in one["undisturbed"]]}
    found = [trial.detection() for trial in trials([contrary])]
    assert not any(row["found"] for row in found)
    assert all(row["needed"] == pytest.approx(1.0, rel=0.1) for row in found)


def two_frameworks(later: float = 1.6, noise: float = 0.004) -> dict:
    names = {"kind": "mixed", "subject": "torch_xla", "baseline": "jax", "trials": 2, "noise": noise}
    found = [pair(workload=name, ratio=1.6, **names) for name in ("gemm", "mha", "layernorm", "bert_base")]
    found[0]["ratios"][5:] = [later / 1.6 * ratio for ratio in found[0]["ratios"][5:]]
    return mixed(found)


def test_two_trials_of_two_frameworks_must_agree():
    entry = two_frameworks()
    assert entry["verdict"] == "pass", entry["detail"]
    assert len(entry["figures"]["trials"]) == 8
    names = [row["workload"] for row in entry["figures"]["quotients"]]
    assert names == ["GEMM (cpu)", "MHA (cpu)", "LayerNorm (cpu)", "BERT-Base (cpu)"]


def test_one_wrong_quotient_of_four_fails():
    entry = two_frameworks(later=1.75)
    assert entry["figures"]["agree"]["count"] == 3, "chance explains one miss of four"
    assert entry["figures"]["wrong"] == ["the interval of GEMM (cpu) is too narrow"]
    assert resolution({"mixed": entry}).endswith(" % on GEMM (cpu).")


def quotient(name: str, ratio: float, error: float, dof: float = 8.0) -> dict:
    return {"name": "w", "workload": name, "ratio": LogRatio(math.log(ratio), error, dof)}


def test_a_large_error_fails_however_wide_its_interval_is():
    entry = mixed_entry([quotient("w", 1.3, 0.5), quotient("v", 1.01, 0.02)])
    assert entry["figures"]["wrong"] == ["w is off by 30 %"]
    assert resolution({"mixed": entry}) == "Two trials of one ratio differed by up to 30 % on w."
    assert mixed_entry([quotient("w", 1.15, 0.5)])["verdict"] == "pass"


def test_nothing_is_no_pass():
    assert {judge([])["verdict"] for judge in (aa, power, mixed)} == {"not run"}
