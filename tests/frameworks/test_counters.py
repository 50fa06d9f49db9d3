"""What the frameworks say that they have done, and where their arrays are."""

import numpy as np
import pytest

from stackwars.measure.child import surroundings
from stackwars.measure.frameworks import Counters
from stackwars.measure.frameworks.jax import _covered
from stackwars.measure.frameworks.numpy import aligned_copy


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


@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 7)])
def test_aligned_copy_has_the_values_and_the_alignment(shape):
    array = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape).T
    result = aligned_copy(array)
    np.testing.assert_array_equal(result, array, strict=True)
    assert result.size == 0 or result.ctypes.data % 64 == 0
    assert result.flags.c_contiguous
    assert not np.shares_memory(result, array)
