"""Numbers as text."""

import doctest

from stackwars.core import numbers


def test_the_examples_of_numbers_hold():
    found = doctest.testmod(numbers)
    assert found.attempted and not found.failed
