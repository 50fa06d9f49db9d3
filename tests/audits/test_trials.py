"""Rates on simulated data, where the truth is known."""

import math
import random

import pytest

from audits.made import rounds, value
from stackwars.audits import power
from stackwars.audits.trials import Trial, aa_comparison, false_claims, rate


def trials(count: int) -> list[Trial]:
    """A/A of cells of 12 rounds."""
    found = (aa_comparison(rounds(12, 5.0, f"cell {n}"), str(n)) for n in range(count))
    return [Trial("cpu", str(number), comparison) for number, comparison in enumerate(found)]


def test_where_both_sides_are_the_same_one_trial_in_twenty_claims_a_difference():
    found = false_claims(trials(400))
    assert found["trials"] == 400
    assert 0.02 <= found["rate"] <= 0.08
    assert found["low"] < 0.05 < found["high"]
    assert 0.001 < found["off_95"] < 0.01
    assert found["ok_claims"]
    assert found["ok_size"]
    nothing = false_claims([])
    assert [nothing[key] for key in ("trials", "ok_claims", "ok_size", "rate")] == [0, False, False, None]


def test_even_rounds_are_paired_with_the_odd_ones_that_follow():
    values = {r: value(10.0 + r) for r in (0, 1, 2, 3, 5)}
    found = [aa_comparison(values, str(seed)) for seed in range(20)]
    assert {one.rounds for one in found} == {2}  # round 5 has no partner
    logs = {round(abs(math.log(one.ratio)), 6) for one in found}
    first, second = math.log(11 / 10) / 2, math.log(13 / 12) / 2
    assert logs == {round(first + second, 6), round(first - second, 6)}
    assert aa_comparison({r: value(10.0) for r in range(3)}, "") is None, "three rounds are no trial"


def test_machine_that_slows_down_is_no_difference():
    # Every odd round is slower, by the machine alone; even against odd would always claim it.
    claimed = 0
    for seed in range(40):
        values = {r: value(v.all_ms * 1.01**r) for r, v in rounds(12, 5.0, f"{seed}").items()}
        claimed += Trial("cpu", "", aa_comparison(values, f"drawn {seed}")).claimed
    assert claimed <= 6


def test_two_claims_in_ten_trials_may_be_chance_and_five_are_not():
    same = trials(1)[0].comparison
    claimed = Trial("cpu", "", same._replace(p=0.01))
    honest = Trial("cpu", "", same._replace(p=0.5))
    assert false_claims([claimed] * 2 + [honest] * 8)["ok_claims"]
    assert not false_claims([claimed] * 5 + [honest] * 5)["ok_claims"]
    assert false_claims([claimed] * 5 + [honest] * 35)["ok_claims"]
    assert not false_claims([claimed] * 7 + [honest] * 33)["ok_claims"]


def test_large_ratios_without_a_difference_fail():
    far = Trial("cpu", "", trials(1)[0].comparison._replace(p=0.5, ratio=0.97))
    found = false_claims([far] * 10)
    assert (found["ok_claims"], found["ok_size"]) == (True, False)


def test_rate_has_the_exact_interval():
    found = rate(3, 60)
    assert (found["count"], found["rate"]) == (3, 0.05)
    assert (found["low"], found["high"]) == pytest.approx((0.0104, 0.1392), abs=1e-4)


def sides(noise: float, count: int = 60) -> dict:
    """Simulated sides of the power audit, with machine conditions that all of a round share."""
    conditions = [random.Random(f"conditions {r}").uniform(0.8, 1.3) for r in range(count)]
    made = {}
    for name, percent in power.SIDES.items():
        one = rounds(count, 4.0 * (1 + percent / 100), name, noise)
        made[name] = {r: value(v.all_ms * conditions[r]) for r, v in one.items()}
    return made


def test_known_differences_are_found_with_their_size():
    found = power.figures(sides(noise=0.004), "cpu-1t")
    assert [size["percent"] for size in found["sizes"]] == [2, 5, 10]
    assert [size["trials"] for size in found["sizes"]] == [15, 15, 15]
    assert [size["count"] for size in found["sizes"]][1:] == [15, 15]
    assert all(abs(size["error_points"]) < 0.4 for size in found["sizes"])
    assert all(size["trial_error_points"] < 2 for size in found["sizes"])
    assert all(abs(size["ratio"] * size["swapped_ratio"] - 1) < 0.01 for size in found["sizes"])
    assert found["aa"]["trials"] == 15
    assert found["aa"]["ok_claims"]
    assert power.figures(sides(noise=0.1), "cpu-1t")["sizes"][0]["rate"] < 0.5, "they drown in noise"
    upside_down = {**sides(noise=0.001), power.side(10): rounds(60, 3.0, "faster", 0.001)}
    size = power.figures(upside_down, "cpu-1t")["sizes"][-1]
    assert size["count"] == 0 and size["error_points"] < -30, "a difference of the wrong sign is not found"
