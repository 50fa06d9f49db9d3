"""Variances that borrow from their family."""

import numpy as np
import pytest

from stackwars.study.results import families
from stackwars.study.results.families import Prior


def test_a_variance_is_drawn_towards_its_family_by_degrees_of_freedom():
    assert families.shrink(4.0, 2, Prior(1.0, 4.0)) == (pytest.approx(2.0), 6.0)
    assert families.shrink(4.0, 2, None) == (4.0, 2)


def test_a_family_needs_three():
    assert families.fit_prior([1.0, 2.0], [2, 2]) is None
    assert families.fit_prior([1.0, 2.0, 3.0], [2, 2, 2]) is not None


def test_the_prior_of_a_family_is_found_again():
    random = np.random.default_rng(2)
    dofs = random.integers(2, 6, 3000)
    true = 0.01 * 6 / random.chisquare(6, 3000)
    prior = families.fit_prior(true * random.chisquare(dofs) / dofs, dofs)
    assert prior.variance == pytest.approx(0.01, rel=0.1) and prior.dof == pytest.approx(6, rel=0.2)


def test_variances_that_differ_by_chance_alone_are_one():
    random = np.random.default_rng(3)
    prior = families.fit_prior(0.01 * random.chisquare(3, 300) / 3, [3] * 300)
    assert prior.variance == pytest.approx(0.01, rel=0.15) and prior.dof > 20


def test_values_that_agree_to_every_digit_do_not_count_for_more_than_they_know():
    alike = families.fit_prior([1e-30, 0.01, 0.012, 0.009, 0.011], [2] * 5)
    assert 2e-4 < alike.variance < 0.1
