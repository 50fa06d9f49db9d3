"""The checks that a number must pass."""

import numpy as np
import pytest

from stackwars.measure.checks import parity, relative_l2

ONES = np.ones(4, np.float32)


def test_relative_l2_by_hand():
    # ||(0, 4) - (3, 4)|| / ||(3, 4)|| = 3/5
    assert relative_l2(np.array([0.0, 4.0]), np.array([3.0, 4.0])) == pytest.approx(0.6)


def test_equal_values_have_no_error():
    assert relative_l2(ONES, ONES.copy()) == 0.0


def test_error_of_small_differences_is_not_lost_in_float32():
    big = np.full(4, 1e4, np.float32)
    assert relative_l2(np.nextafter(big, np.float32(np.inf)), big) == pytest.approx(1e-7, rel=0.1)


def test_baseline_of_zeros_gives_the_absolute_error():
    assert relative_l2(np.array([3.0, 4.0]), np.zeros(2)) == pytest.approx(5.0)


@pytest.mark.parametrize(
    "values", [np.ones(3), np.ones((2, 2)), np.array([1, 1, 1, np.nan]), np.full(4, np.inf)]
)
def test_other_shapes_and_values_not_finite_are_infinitely_far(values):
    assert relative_l2(values, ONES) == float("inf")


def test_values_not_finite_in_the_baseline_are_infinitely_far():
    assert relative_l2(ONES, np.array([1, 1, 1, np.nan])) == float("inf")


def test_parity_is_against_the_baseline_which_has_the_largest():
    outputs = {"a": 1.5 * ONES, "base": ONES, "b": 1.25 * ONES}
    errors = parity(outputs, {"a": "base", "b": "base"})
    assert errors == pytest.approx({"base": 0.5, "a": 0.5, "b": 0.25})


def test_each_subject_is_compared_with_its_own_baseline():
    outputs = {"base": ONES, "a": 2 * ONES, "b": 4 * ONES, "other": 5 * ONES, "c": 10 * ONES}
    baselines = {"a": "base", "b": "a", "c": "other", "absent": "base"}
    # A baseline that is a subject itself keeps its own error.
    errors = {"base": 1.0, "a": 1.0, "b": 1.0, "other": 1.0, "c": 1.0}
    assert parity(outputs, baselines) == pytest.approx(errors)
    apart = parity({**outputs, "b": 6 * ONES, "c": 5 * ONES}, baselines)
    assert apart == pytest.approx({**errors, "b": 2.0, "other": 0.0, "c": 0.0})


def test_nothing_to_compare_has_no_parity():
    assert parity({"base": ONES}, {"a": "base"}) == {}
    assert parity({"a": ONES, "b": ONES}, {"a": "base", "b": "base"}) == {}
    assert parity({"a": ONES, "base": ONES}, {}) == {}
