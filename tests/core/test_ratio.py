"""Ratios against scipy, worked examples and simulated rounds."""

import math

import numpy as np
import pytest
from scipy import stats

from stackwars.core.ratio import Estimate, LogRatio, direction, geometric_mean


def compared(random, ratio=1.0, count=10, noise=0.02, drift=0.2) -> LogRatio:
    """Return the ratio of two sides with a speed for each round and noise for each process."""
    speed = np.exp(random.normal(0, drift, count))
    ours, theirs = (speed * np.exp(random.normal(0, noise, count)) for _ in range(2))
    return LogRatio.of_rounds(list(ratio * ours / theirs))


@pytest.fixture
def random():
    return np.random.default_rng(11)


def test_detectable_difference_is_found_four_times_of_five(random):
    # Of two processes with 2 % noise each, the log-ratio has sqrt(2) times as much.
    error = 0.02 * math.sqrt(2) / math.sqrt(10)
    size = math.exp((stats.t.ppf(0.975, 9) + stats.t.ppf(0.8, 9)) * error)
    trials = [compared(random, ratio=size) for _ in range(2000)]
    assert np.mean([trial.estimate().low > 1 for trial in trials]) == pytest.approx(0.8, abs=0.04)
    assert np.median([trial.detectable() for trial in trials]) == pytest.approx(size - 1, rel=0.1)


@pytest.mark.parametrize(
    ("estimate", "word"),
    [
        (Estimate(1.5, 1.1, 2.0), "slower"),
        (Estimate(0.6, 0.5, 0.9), "faster"),
        (Estimate(1.0, 0.97, 1.03), "equivalent"),
        (Estimate(1.0, 0.97, 1.06), "inconclusive"),
        (Estimate(1.0, None, None), "no interval"),
    ],
)
def test_direction_is_by_the_interval_alone(estimate, word):
    assert direction(estimate) == word


ROUNDS = [1.1, 1.3, 1.2, 1.05]


def test_of_rounds_is_the_t_test_of_the_logarithms():
    found = LogRatio.of_rounds(ROUNDS)
    known = stats.ttest_1samp(np.log(ROUNDS), 0)
    ends = np.exp(known.confidence_interval(0.95))
    assert found.estimate()[1:] == pytest.approx(tuple(ends))
    assert found.estimate().value == pytest.approx(math.prod(ROUNDS) ** 0.25)


def test_one_round_has_no_error_and_rounds_that_agree_have_none_left():
    found = LogRatio.of_rounds([2.0])
    assert found.estimate() == (pytest.approx(2.0), None, None)
    assert (found.detectable(), found.half_width()) == (None, None)
    assert LogRatio.of_rounds(ROUNDS).plus(found).error is None
    same = LogRatio.of_rounds([2.0, 2.0, 2.0])
    assert same.estimate() == pytest.approx((2.0, 2.0, 2.0))
    assert same.plus(same, others=-1.0).estimate() == pytest.approx((1.0, 1.0, 1.0))


@pytest.mark.parametrize("ratios", [[], [1.0, 0.0], [-1.0, 2.0]])
def test_a_ratio_that_has_no_logarithm_is_refused(ratios):
    with pytest.raises(ValueError, match="at least one ratio and all over zero"):
        geometric_mean(ratios)


def test_a_difference_is_welch_s_and_weights_are_those_of_a_linear_combination():
    one, other = np.log(ROUNDS), np.log([0.9, 1.3, 2.0])
    known = stats.ttest_ind(one, other, equal_var=False)
    found = LogRatio.of_rounds(ROUNDS).plus(LogRatio.of_rounds([0.9, 1.3, 2.0]), others=-1.0)
    assert found.freedom == pytest.approx(known.df)
    assert found.estimate()[1:] == pytest.approx(tuple(np.exp(known.confidence_interval(0.95))))
    one, other = LogRatio(0.4, 0.3, 3.0), LogRatio(0.1, 0.2, 5.0)
    found = one.plus(other, weight=2.0, others=-1.0)
    assert (found.log, found.error) == pytest.approx((0.7, math.sqrt(0.36 + 0.04)))
