"""Which release changed a program: by its outcome, or by a ratio of times beyond its interval and the bound."""

import pytest

from stackwars.explain.release_times import Release, chained, change, changes, ratio

LISTED = ["4", "3", "2", "1"]
BOUND = 0.1


def timed(version: str, ms: list[float], group: int = 1) -> Release:
    return Release(version, "ok", times={(group, number): one for number, one in enumerate(ms)})


def test_a_ratio_is_of_the_rounds_that_two_releases_share_so_that_drift_cancels():
    drift = [1.0, 2.0, 4.0]
    estimate = ratio(timed("2", [3 * d for d in drift]), timed("1", drift))
    assert estimate.value == pytest.approx(3)
    assert estimate.low == pytest.approx(3) and estimate.high == pytest.approx(3)
    assert ratio(timed("2", [1.0], group=1), timed("1", [1.0], group=2)) is None


def test_a_ratio_to_the_newest_goes_through_releases_of_both_groups():
    middle = Release("2", "ok", times={(1, 0): 2.0, (1, 1): 2.2, (2, 0): 4.0, (2, 1): 4.4})
    releases = [timed("3", [1.0, 1.1], 1), middle, timed("1", [12.0, 13.2], 2)]
    assert chained(releases, 2).value == pytest.approx(6)


def test_a_slower_release_is_one_beyond_the_interval_and_the_bound():
    older = timed("1", [1.0, 1.01, 0.99])
    slower = change(timed("2", [2.0, 2.02, 1.98]), older, LISTED, BOUND)
    assert (slower.kind, slower.between) == ("slower", 0)
    assert "2 takes 2.00 times as long as 1" in slower.sentence
    assert change(timed("2", [0.5, 0.51, 0.49]), older, LISTED, BOUND).kind == "faster"
    assert change(timed("2", [1.05, 1.06, 1.04]), older, LISTED, BOUND) is None, "within the bound"
    assert change(timed("2", [4.0, 0.9, 1.2]), older, LISTED, BOUND) is None, "the interval holds 1"


def test_an_outcome_that_differs_is_a_change_and_so_is_its_repair():
    releases = [
        Release("4", "ok"),
        Release("3", "wrong", "1 of 3 elements wrong"),
        Release("2", "unsupported"),
        Release("1", "ok"),
    ]
    fixed, broken = changes(releases, LISTED, BOUND)
    assert (fixed.newer, fixed.older, fixed.kind) == ("4", "3", "fixed")
    assert (broken.newer, broken.older, broken.kind, broken.between) == ("3", "1", "wrong", 1)
    assert "one of 2 releases up to 3: wrong" in broken.sentence
