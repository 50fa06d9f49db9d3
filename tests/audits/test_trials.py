"""Trials of simulated rounds, where the truth is known, and the verdicts on them."""

import json
import math

import pytest

from made_tables import pair, pairs
from stackwars.core.ratio import LogRatio
from stackwars.study.audits.trials import (
    aa,
    contains,
    exceeds,
    falls_short,
    groups,
    mixed,
    mixed_entry,
    power,
    power_entry,
    quotients,
    rate,
    trials,
)


def test_trials_are_disjoint_rounds_in_the_order_of_time():
    assert groups([1, 2, 3, 4, 5, 6, 7], 3) == [[1, 2, 3], [4, 5, 6]]
    every = trials([pair(trials=2, name="a"), pair(trials=1, name="b", workload="mha")])
    assert [trial.pair["name"] for trial in every] == ["a", "b", "a"]
    assert trials([pair(rounds=1)]) == [], "one round has no interval"


def test_equal_sides_differ_at_the_nominal_rate():
    every = [trial for seed in range(12) for trial in trials(pairs(seed=seed))]
    assert len(every) == 12 * 36
    assert 0.02 <= sum(trial.excludes_one for trial in every) / len(every) <= 0.08
    assert sum(trial.claimed for trial in every) <= sum(trial.excludes_one for trial in every)


def test_intervals_of_noisy_pairs_miss_at_the_nominal_rate_among_quiet_ones():
    noisy = []
    for seed in range(150):
        quiet = [pair(name=name, noise=0.01, workload=name, seed=seed) for name in ("ffn", "mha", "conv")]
        found = trials([pair(name="noisy", noise=0.12, seed=seed), *quiet])
        noisy += [trial for trial in found if trial.pair["name"] == "noisy"]
    missed = sum(trial.excludes_one for trial in noisy)
    assert len(noisy) == 450 and 0.02 <= missed / len(noisy) <= 0.08


def test_trials_of_two_devices_are_two_runs():
    cpu, one_core = (pair(device=device, ratio=ratio) for device, ratio in (("cpu", 1.0), ("cpu-1t", 1.5)))
    every = trials([cpu, one_core])
    assert [trial.key[0] for trial in every] == ["cpu", "cpu-1t"] * 3
    alone = [trial for one in (cpu, one_core) for trial in trials([one])]
    assert {trial.key: trial.level for trial in every} == {trial.key: trial.level for trial in alone}


def test_a_trial_is_recorded_with_what_it_was_made_of():
    one = pair(device="cpu-1t")
    second = trials([one])[1].record()
    assert (second["workload"], second["device"], second["subject"], second["baseline"], second["trial"]) == (
        "gemm", "cpu-1t", "jax", "jax", 1,
    )  # fmt: skip
    assert second["rounds"] == one["ratios"][5:10]
    assert second["ratio"] == pytest.approx(math.prod(second["rounds"]) ** (1 / 5))
    assert second["low"] < second["ratio"] < second["high"]
    assert aa([one])["figures"]["trials"][1] == second


def test_undisturbed_series_on_the_other_side_of_one_prevent_a_claim():
    slower = pair(ratio=1.2)
    assert {trial.verdict for trial in trials([slower])} == {"slower"}
    contrary = {**slower, "undisturbed": [1 / one for one in slower["undisturbed"]]}
    assert not any(trial.claimed for trial in trials([contrary]))


def test_a_round_without_a_series_says_nothing_of_the_undisturbed_ratio():
    one = pair(ratio=1.2)
    series = [None if number % 5 >= 2 else ratio for number, ratio in enumerate(one["undisturbed"])]
    first, other = trials([one])[0], trials([{**one, "undisturbed": series}])[0]
    assert other.undisturbed == pytest.approx(math.log(series[0] * series[1]) / 2)
    assert (other.ratio, other.rounds) == (first.ratio, first.rounds)


def test_quotients_of_two_trials_contain_what_they_differ_by():
    one, other = (trials([pair(ratio=ratio, noise=0.005)]) for ratio in (1.6 * 1.05, 1.6))
    (first, *_) = quotients(one, other)
    assert contains(first, 1.05)
    assert not contains(first, 1.0)
    assert first.error > one[0].ratio.error


def test_rate_has_the_exact_interval():
    found = rate(3, 60)
    assert (found["count"], found["rate"]) == (3, 0.05)
    assert (found["low"], found["high"]) == pytest.approx((0.0104, 0.1392), abs=1e-4)


def test_chance_explains_two_of_ten_and_not_five():
    assert not exceeds(rate(2, 10), 0.05)
    assert exceeds(rate(5, 10), 0.05)
    assert not falls_short(rate(6, 7), 0.95)
    assert falls_short(rate(4, 7), 0.95)


def test_equal_sides_pass_with_rates_by_framework_and_in_all():
    entry = aa(pairs())
    assert entry["verdict"] == "pass", entry["detail"]
    groups = entry["figures"]["groups"]
    assert {name: group["claims"]["trials"] for name, group in groups.items()} == {
        "jax": 18, "torch_xla": 18, "cpu": 36, "all": 36,
    }  # fmt: skip
    total = groups["all"]["claims"]["count"]
    assert f"a difference is claimed in {total} of 36 trials" in entry["detail"]
    assert entry["consequence"] == "", "nothing follows from a pass"
    assert json.loads(json.dumps(entry)) == entry


def test_a_slower_role_fails_and_so_does_one_framework_alone():
    entry = aa(pairs(ratio=1.03))
    assert (entry["verdict"], entry["figures"]["wrong"][0]) == ("fail", "too many claims of jax")
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


def test_detectable_differences_of_rounds_in_two_states_are_not_found():
    """All rounds of a trial lie at one of two speeds: their spread says nothing of the next trial's."""
    found = pairs(noise=0.001)
    for number, one in enumerate(found):
        for key in ("ratios", "undisturbed"):
            slow = range(5 * (number % 3), 5 * (number % 3) + 5)
            one[key] = [ratio * (0.9 if at in slow else 1.0) for at, ratio in enumerate(one[key])]
    entry = power(found)
    assert (entry["verdict"], entry["figures"]["wrong"][0]) == (
        "fail", "the detectable difference of all is found too seldom",
    )  # fmt: skip
    assert "Differences below 12 % on GEMM (cpu)" in entry["consequence"]


@pytest.mark.parametrize(("rate_found", "verdict"), [(34, "pass"), (20, "fail")])
def test_power_asks_for_eighty_percent(rate_found, verdict):
    rows = [
        {"workload": f"w{number % 4}", "detectable": 0.1, "found": number < rate_found, "needed": 0.123}
        for number in range(40)
    ]
    entry = power_entry(rows)
    assert entry["verdict"] == verdict
    assert f"in {rate_found} of 40 trials" in entry["detail"] and "w0 (median 10 %)" in entry["detail"]
    assert ("Differences below 13 % on w0" in entry["consequence"]) == (verdict == "fail")


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
    assert entry["consequence"].startswith("Differences below ")
    assert "GEMM (cpu)" in entry["consequence"] and "MHA" not in entry["consequence"]


def test_a_large_error_fails_however_wide_its_interval_is():
    row = {"name": "w", "workload": "w", "ratio": LogRatio(math.log(1.3), 0.5, 8.0)}
    entry = mixed_entry([row, {"name": "v", "workload": "v", "ratio": LogRatio(0.01, 0.02, 8.0)}])
    assert entry["figures"]["wrong"] == ["w is off by 30 %"]
    assert entry["consequence"] == "Differences below 30 % on w are not resolved in one run."
    assert mixed_entry([row | {"ratio": LogRatio(math.log(1.15), 0.5, 8.0)}])["verdict"] == "pass"


def test_the_quotient_that_once_passed_fails():
    """0.675 (0.662 to 0.689) for 1.05, among six that contain the truth."""
    wrong = LogRatio(math.log(0.675 / 1.05), 0.0091, 10.0)
    rows = [{"name": "w", "workload": f"w{number}", "ratio": LogRatio(0.0, 0.05, 8.0)} for number in range(6)]
    entry = mixed_entry([*rows, {"name": "layers", "workload": "layers", "ratio": wrong}])
    assert entry["figures"]["wrong"] == ["the interval of layers is too narrow", "layers is off by 56 %"]


def test_nothing_is_no_pass():
    assert {judge([])["verdict"] for judge in (aa, power, mixed)} == {"not run"}
