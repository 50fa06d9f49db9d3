"""A ratio on the logarithmic scale, against scipy and against numbers worked out by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from stackwars.measure.log_ratio import LogRatio

ROUNDS = [1.1, 1.3, 1.2, 1.05]


def test_of_rounds_is_the_t_test_of_the_logarithms():
    found = LogRatio.of_rounds(ROUNDS)
    known = stats.ttest_1samp(np.log(ROUNDS), 0)
    assert found.p() == pytest.approx(known.pvalue)
    ends = np.exp(known.confidence_interval(0.95))
    assert found.estimate()[1:] == pytest.approx(tuple(ends))
    assert found.estimate().value == pytest.approx(math.prod(ROUNDS) ** 0.25)


def test_one_round_has_no_error():
    found = LogRatio.of_rounds([2.0])
    assert found.estimate() == (pytest.approx(2.0), None, None)
    assert (found.p(), found.detectable(), found.half_width()) == (None, None, None)
    assert LogRatio.of_rounds(ROUNDS).plus(found).error is None


@pytest.mark.parametrize("ratios", [[], [1.0, 0.0], [-1.0, 2.0]])
def test_a_ratio_that_has_no_logarithm_is_refused(ratios):
    with pytest.raises(ValueError, match="at least one ratio and all over zero"):
        LogRatio.of_rounds(ratios)


def test_a_difference_is_welch_s():
    """scipy's Welch test has the same freedom and p."""
    one, other = np.log(ROUNDS), np.log([0.9, 1.3, 2.0])
    known = stats.ttest_ind(one, other, equal_var=False)
    found = LogRatio.of_rounds(ROUNDS).plus(LogRatio.of_rounds([0.9, 1.3, 2.0]), others=-1.0)
    assert found.freedom == pytest.approx(known.df)
    assert found.p() == pytest.approx(known.pvalue)


def test_weights_are_those_of_a_linear_combination():
    one, other = LogRatio(0.4, 0.3, 3.0), LogRatio(0.1, 0.2, 5.0)
    found = one.plus(other, own=2.0, others=-1.0)
    assert (found.log, found.error) == pytest.approx((0.7, math.sqrt(0.36 + 0.04)))


def test_rounds_that_agree_to_every_digit():
    same = LogRatio.of_rounds([2.0, 2.0, 2.0])
    assert same.p() == 0.0
    assert LogRatio.of_rounds([1.0, 1.0]).p() == 1.0
    assert same.plus(same, others=-1.0).estimate() == pytest.approx((1.0, 1.0, 1.0))
