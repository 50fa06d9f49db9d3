"""Whether there is a gap, by which clock, and whether two programs compute one thing."""

import numpy as np
import pytest

from explain.pairs import program
from stackwars.explain.bench import CPU, WALL
from stackwars.explain.gap import (
    NO_GAP,
    NOT_SEPARABLE,
    choose_clock,
    gap_verdict,
    guesses,
    moved,
    orders,
    results_apart,
)
from stackwars.explain.workers import Times
from stackwars.measure.log_ratio import Estimate


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.97, 1.04, NO_GAP),
        (1.02, 1.08, NO_GAP),
        (0.9, 1.15, NO_GAP),
        (0.7, 1.6, NOT_SEPARABLE),
        (1.05, 1.3, None),
        (0.6, 0.8, None),
    ],
)
def test_a_gap_has_an_interval_beyond_the_bound_and_without_one(low, high, verdict):
    assert gap_verdict(Estimate((low * high) ** 0.5, low, high), 0.1) == verdict


def test_the_processors_time_is_the_clock_if_the_machine_is_busy():
    def steady(ms):
        return np.full(20, ms * 1e6)

    busy = np.tile(np.repeat([10e6, 30e6], 4), 3)[:20]
    assert choose_clock({"A": Times(steady(10), steady(10)), "B": Times(steady(8), steady(8))}) == (WALL, False)
    assert choose_clock({"A": Times(busy, steady(10)), "B": Times(busy, steady(8))}) == (CPU, False)
    assert choose_clock({"A": Times(busy, busy), "B": Times(busy, busy)}) == (WALL, True)


def test_results_in_another_layout_or_order_are_the_same():
    x = normal(4, 6, 5)
    assert not results_apart([x, x + 1], [x.transpose(2, 0, 1) + 1, x * (1 + 1e-6)])
    assert not results_apart([np.arange(4)], [np.arange(4)])


def test_results_of_one_distribution_are_different():
    assert "result 0 of A" in results_apart([normal(500, 400)], [normal(500, 400, seed=1)])
    assert results_apart([np.arange(4)], [np.arange(1, 5)])
    assert results_apart([np.array([1.0, np.nan])], [np.array([1.0, 2.0])])


def test_the_layout_of_a_plain_argument_is_guessed_from_the_shapes():
    assert orders((2, 3), (3, 2)) == [(1, 0)]
    assert orders((3, 3), (3, 3)) == [(0, 1), (1, 0)]
    assert orders((2, 3), (2, 4)) == []
    assert (2, 3, 1, 0) in orders((8, 4, 3, 3), (3, 3, 4, 8))


def test_guesses_of_all_arguments_start_with_what_fits_as_it_is():
    lines = [("y", "custom_call", ["x", "w"], "2xf32")]
    a, _ = program({"x": "3x3xf32", "w": "2x5xf32"}, lines, ["y"])
    b, _ = program({"x": "3x3xf32", "w": "5x2xf32"}, lines, ["y"])
    found = list(guesses(a, b))
    assert found == [[(0, 1), (1, 0)], [(1, 0), (1, 0)]]
    values = [lambda number: normal(3, 3, seed=number), lambda number: normal(2, 5)]
    np.testing.assert_array_equal(moved(values, found[1])[0](1), normal(3, 3, seed=1).T)
