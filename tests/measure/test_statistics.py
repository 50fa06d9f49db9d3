"""Statistics against numbers worked out by hand."""

import math

import pytest

from stackwars.measure.log_ratio import geometric_mean


def test_interval_is_students_t_of_the_logarithms():
    # Logarithms 0, 1, 2: mean 1, standard error 1/sqrt(3), and t(0.975, 2) = 4.302653.
    half = 4.302653 / math.sqrt(3)
    found = geometric_mean([1.0, math.e, math.e**2])
    assert found.value == pytest.approx(math.e)
    assert found.low == pytest.approx(math.exp(1 - half), rel=1e-6)
    assert found.high == pytest.approx(math.exp(1 + half), rel=1e-6)


def test_interval_of_two_values():
    # Logarithms 0 and ln 4: mean ln 2, standard error ln 2, and t(0.975, 1) = 12.706205.
    found = geometric_mean([4.0, 1.0])
    assert found.value == pytest.approx(2.0)
    assert found.low == pytest.approx(2 ** (1 - 12.706205), rel=1e-6)
    assert found.high == pytest.approx(2 ** (1 + 12.706205), rel=1e-6)


def test_equal_values_leave_no_width():
    assert geometric_mean([3.0, 3.0, 3.0]) == pytest.approx((3.0, 3.0, 3.0))


def test_one_value_has_no_interval():
    found = geometric_mean([7.0])
    assert found.value == pytest.approx(7.0)
    assert found[1:] == (None, None)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -2.0]])
def test_logarithm_must_exist(values):
    with pytest.raises(ValueError, match="at least one value and all over zero; got"):
        geometric_mean(values)
