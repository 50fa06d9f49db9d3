"""Examples in docstrings."""

import doctest

import pytest

from stackwars.core import evaluate, launch, lines, numbers, outcome, program_text, types


@pytest.mark.parametrize("module", [evaluate, launch, lines, numbers, outcome, program_text, types])
def test_the_examples_of_a_module_hold(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed
