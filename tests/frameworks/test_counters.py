"""What JAX says of the time in which it traced."""

import pytest

from stackwars.measure.frameworks.jax import _covered


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
