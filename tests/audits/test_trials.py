"""Trials of simulated rounds, where the truth is known, and the verdicts on them."""

import json
import math

import pytest

from made_tables import pair, pairs
from stackwars.study.audits.trials import (
    aa,
    contains,
    exceeds,
    falls_short,
    groups,
    mixed,
    power,
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


def test_the_variance_of_a_trial_is_moderated_by_those_of_its_number():
    quiet = pair(name="quiet", noise=0.0001)
    alone = next(iter(trials([quiet]))).ratio
    among = next(trial for trial in trials([quiet, *pairs(noise=0.05)]) if trial.pair["name"] == "quiet").ratio
    assert among.error > 2 * alone.error
    assert among.freedom > alone.freedom


def test_undisturbed_series_on_the_other_side_of_one_prevent_a_claim():
    slower = pair(ratio=1.2)
    assert all(trial.found for trial in trials([slower]))
    contrary = {**slower, "undisturbed": [1 / one for one in slower["undisturbed"]]}
    assert not any(trial.claimed for trial in trials([contrary]))


def test_a_difference_of_arithmetic_multiplies_every_ratio():
    (plain, more) = (trials([pair(noise=0.002)], factor) for factor in (1.0, 1.05))
    assert not any(trial.found for trial in plain)
    assert all(trial.found for trial in more)
    assert [math.exp(b.ratio.log - a.ratio.log) for a, b in zip(plain, more, strict=True)] == pytest.approx(
        [1.05] * 3
    )


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
        "jax": 18, "torch_xla": 18, "all": 36,
    }  # fmt: skip
    assert groups["all"]["claims"]["count"] == 3, "chance explains so many of 36"
    assert "a difference is claimed in 3 of 36 trials (8 %, 95 % interval 2 to 22 %)" in entry["detail"]
    assert "jax 0 of 18, torch_xla 3 of 18" in entry["detail"]
    assert json.loads(json.dumps(entry)) == entry


def test_a_slower_role_fails_and_so_does_one_framework_alone():
    entry = aa(pairs(ratio=1.03))
    assert (entry["verdict"], entry["figures"]["wrong"][0]) == ("fail", "too many claims of jax")
    good, bad = pairs(noise=0.02), pairs(noise=0.002, ratio=1.01)
    wrong = aa([one if one["subject"] == "jax" else other for one, other in zip(good, bad, strict=True)])
    assert "too many intervals of torch_xla" in wrong["figures"]["wrong"]
    assert "jax" not in " ".join(wrong["figures"]["wrong"])


def test_known_differences_are_found_unless_noise_hides_them():
    entry = power(pairs(noise=0.005))
    assert entry["verdict"] == "pass", entry["detail"]
    assert [size["percent"] for size in entry["figures"]["sizes"]] == [5, 3]
    assert "5 % is found in 36 of 36 trials (100 %, 95 % interval 90 to 100 %)" in entry["detail"]
    assert json.loads(json.dumps(entry)) == entry
    hidden = power(pairs(noise=0.08))["figures"]["wrong"]
    assert hidden == ["5 % is found too seldom", "3 % is found too seldom"]


def two_frameworks(later: float = 1.6) -> dict:
    names = {"kind": "mixed", "subject": "torch_xla", "baseline": "jax", "trials": 2, "noise": 0.004}
    found = [pair(workload=name, ratio=1.6, **names) for name in ("gemm", "mha", "layernorm")]
    for one in found:
        one["ratios"][5:] = [later / 1.6 * ratio for ratio in one["ratios"][5:]]
    return mixed(found)


def test_two_trials_of_two_frameworks_must_agree():
    entry = two_frameworks()
    assert entry["verdict"] == "pass", entry["detail"]
    names = [row["name"] for row in entry["figures"]["quotients"]]
    assert names == [f"torch_xla-jax-{workload}" for workload in ("gemm", "mha", "layernorm")]
    assert two_frameworks(later=1.75)["verdict"] == "fail"


def test_nothing_is_no_pass():
    assert {judge([])["verdict"] for judge in (aa, power, mixed)} == {"not run"}
