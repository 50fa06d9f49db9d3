"""What the frameworks say that they have done."""

import pytest

from stackwars.measure.child import surroundings
from stackwars.measure.frameworks import Counters
from stackwars.measure.frameworks.jax import _covered


def test_difference_of_two_readings():
    found = Counters(5, 4, 1.5, 4.0).since(Counters(2, 3, 1.0, 1.0))
    assert found == Counters(3, 1, 0.5, 3.0)
    untold = Counters(5, 0, None, None).since(Counters(2, 0, None, 1.0))
    assert untold == Counters(3, 0, None, None), "what is not told stays untold"


@pytest.mark.parametrize(
    ("intervals", "seconds"),
    [
        ([], 0.0),
        ([(1, 2), (4, 6)], 3.0),
        # An inner function's trace is reported before its caller's, which covers it.
        ([(2, 3), (1, 5)], 4.0),
        ([(1, 3), (2, 4)], 3.0),
        ([(1, 2), (1, 2)], 1.0),
    ],
    ids=["none", "apart", "nested", "overlapping", "equal"],
)
def test_nested_traces_count_once(intervals, seconds):
    assert _covered(intervals) == pytest.approx(seconds)


def test_xla_flags_are_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_one=1")
    assert surroundings()["xla_flags"] == "--xla_one=1"
    monkeypatch.delenv("XLA_FLAGS")
    assert surroundings()["xla_flags"] == ""
