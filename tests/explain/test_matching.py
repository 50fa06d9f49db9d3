"""Matching values of two programs that are one tensor up to its layout."""

from itertools import pairwise

import numpy as np
import pytest

from explain.pairs import program
from stackwars.core.evaluate import fingerprint
from stackwars.core.program import Argument
from stackwars.core.types import DTYPES
from stackwars.explain.matching import (
    AxisMap,
    Class,
    MapFinder,
    guesses,
    is_close,
    map_by_order,
    match,
    orders,
    resized,
    results_differ,
    transposed,
)

STRAIGHT = AxisMap.reshape((2, 3))


class Arrays:
    """Values given as arrays: {value: [in the first set of inputs, in the second]}."""

    def __init__(self, arrays):
        self.arrays = arrays

    def print(self, value):
        return fingerprint(self.arrays[value][0])

    def is_informative(self, value):
        return self.print(value)["informative"]

    def array(self, value, number=0):
        return self.arrays[value][number]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def both(change=lambda x: x, *shape, seeds=(0, 1)):
    return [change(normal(*(shape or (4, 6, 10)), seed=seed)) for seed in seeds]


def classes(a, b, results=([], [])):
    found = match((Arrays(a), Arrays(b)), (list(a), list(b)), results)
    return [tuple(map(sorted, tensor.maps)) for tensor in found]


@pytest.mark.parametrize(
    ("target", "change"),
    [
        ((24, 10), lambda x: x.reshape(24, 10)),
        ((10, 4, 6), lambda x: x.transpose(2, 0, 1)),
        ((4, 5, 6, 2), lambda x: x.reshape(4, 6, 5, 2).transpose(0, 2, 1, 3)),
        ((12, 20), lambda x: x.reshape(2, 2, 6, 10).transpose(0, 2, 1, 3).reshape(12, 20)),
        ((240,), lambda x: x.transpose(2, 1, 0).reshape(-1)),
    ],
)
def test_a_map_is_found_for_a_reshape_and_a_transpose(target, change):
    source = normal(4, 6, 10)
    found = MapFinder().find(source, change(source))
    assert found.apply(source).shape == target
    np.testing.assert_array_equal(found.apply(source), change(source))
    # The last digits may differ.
    close = MapFinder().find(source, change(source) * (1 + 1e-13))
    np.testing.assert_array_equal(close.apply(source), change(source))


def test_a_map_of_distinct_integers_is_found_and_equal_integers_have_none():
    source = np.arange(240, dtype=np.int64).reshape(4, 60)
    target = source.reshape(4, 6, 10).transpose(1, 0, 2)
    np.testing.assert_array_equal(map_by_order(source, target).apply(source), target)
    assert map_by_order(source // 2, target // 2) is None


def test_no_map_turns_an_array_into_another_with_the_same_elements():
    source = normal(4, 6, 10)
    shuffled = np.random.default_rng(2).permutation(source.reshape(-1)).reshape(source.shape)
    assert MapFinder().find(source, shuffled) is None
    assert MapFinder().find(source, source.astype(complex)) is None


def test_close_needs_exact_integers_and_equal_infinities():
    assert is_close(np.array([1.0, np.inf, np.nan]), np.array([1.0 + 1e-7, np.inf, np.nan]))
    assert not is_close(np.array([1.0, np.inf]), np.array([1.0, -np.inf]))
    assert not is_close(np.array([1.0, 2.0]), np.array([1.0, np.inf]))
    assert not is_close(np.array([1, 2]), np.array([1, 3]))
    assert not is_close(np.array([1, 2]), np.array([1.0, 2.0]))


def test_values_of_one_tensor_with_both_sets_of_inputs_are_one_class():
    a = {0: both(), 1: both(lambda x: x.transpose(2, 0, 1)), 2: both(np.exp)}
    b = {0: both(lambda x: x.reshape(24, 10)), 5: both(np.exp)}
    assert classes(a, b) == [([0, 1], [0]), ([2], [5])]
    assert classes({0: both(seeds=(0, 3))}, {0: both(seeds=(0, 4))}) == []


def test_masks_constants_and_small_arrays_are_no_cuts_unless_they_are_results():
    constant, small = [np.ones((5, 5))] * 2, both(lambda x: x, 2, 2)
    values = {0: constant, 1: small}
    assert classes(values, values) == []
    assert classes(values, values, ([1], [1])) == [([1], [1])]


def test_two_tensors_with_equal_moments_are_two_classes():
    turned = np.flip
    a = {0: both(), 1: both(turned)}
    b = {0: both(turned), 1: both()}
    assert classes(a, b) == [([0], [1]), ([1], [0])]


def test_classes_are_in_the_order_of_the_first_program():
    changes = [np.exp, np.sin, np.cos, np.abs]
    a = {k: both(change) for k, change in enumerate(changes)}
    found = match((Arrays(a), Arrays(a)), ([3, 1, 0, 2], [0, 1, 2, 3]), ([], []))
    assert all(x != y for x, y in pairwise(found))
    assert [tensor.first[0] for tensor in found] == [3, 1, 0, 2]


def test_values_of_a_narrow_type_are_matched():
    narrow = {0: [x.astype(DTYPES["bf16"]) for x in both()]}
    assert classes(narrow, {0: both(lambda x: x.astype(DTYPES["bf16"]).astype(np.float64).T)}) == [([0], [0])]


def test_results_in_another_layout_or_order_are_the_same_and_of_one_distribution_are_different():
    x = normal(4, 6, 5).astype(np.float32)
    assert not results_differ([x, x + 1], [x.transpose(2, 0, 1) + 1, x * (1 + 1e-6)])
    assert not results_differ([np.arange(4)], [np.arange(4)])
    assert not results_differ([x.astype(DTYPES["bf16"])], [x])
    assert "result 0 of A" in results_differ([normal(500, 400)], [normal(500, 400, seed=1)])
    assert results_differ([np.arange(4)], [np.arange(1, 5)])
    # One of a thousand integers.
    assert results_differ([np.arange(1000)], [np.arange(1000) + 5 * (np.arange(1000) == 999)])
    assert results_differ([np.array([1.0, np.nan])], [np.array([1.0, 2.0])])


def test_the_layout_of_a_plain_argument_is_guessed_from_the_shapes_at_first_as_it_is():
    assert orders((2, 3), (3, 2)) == [(1, 0)]
    assert orders((3, 3), (3, 3)) == [(0, 1), (1, 0)]
    assert orders((2, 3), (2, 4)) == []
    assert (2, 3, 1, 0) in orders((8, 4, 3, 3), (3, 3, 4, 8))
    lines = [("y", "custom_call", ["x", "w"], "2xf32")]
    a, _ = program({"x": "3x3xf32", "w": "2x5xf32"}, lines, ["y"])
    b, _ = program({"x": "3x3xf32", "w": "5x2xf32"}, lines, ["y"])
    found = list(guesses(a, b))
    assert found == [[(0, 1), (1, 0)], [(1, 0), (1, 0)]]
    arguments = [
        Argument("x", lambda number: normal(3, 3, seed=number)),
        Argument("w", lambda number: normal(2, 5, seed=number), is_fixed=True),
    ]
    x, w = transposed(arguments, found[1])
    np.testing.assert_array_equal(x(1), normal(3, 3, seed=1).T)
    np.testing.assert_array_equal(w(1), normal(2, 5).T)


@pytest.mark.parametrize(
    ("found", "source", "larger", "target", "refined"),
    [
        (AxisMap((2, 3, 4, 5), (0, 2, 1, 3), (2, 4, 3, 5)), (6, 20), (192, 20), (64, 4, 3, 5), (64, 3, 4, 5)),
        (AxisMap((2, 12, 3), (0, 2, 1), (2, 3, 12)), (2, 3, 4, 3), (8, 3, 4, 3), (8, 3, 12), (8, 12, 3)),
        (AxisMap((5, 7), (1, 0), (7, 5)), (5, 7), (5, 7), (7, 5), (5, 7)),
    ],
)
def test_a_layout_of_a_larger_batch_moves_the_elements_likewise(found, source, larger, target, refined):
    assert found.resized(source, larger, target) == AxisMap(refined, found.order, target)


def test_a_layout_that_grows_in_two_axes_has_no_form():
    with pytest.raises(ValueError, match=r"no form at \(4, 6\)"):
        AxisMap((2, 3), (1, 0), (3, 2)).resized((2, 3), (4, 6), (6, 4))


def test_classes_are_those_of_the_same_operations_at_another_batch():
    def pair(batch, op="abs"):
        (a, va), (b, vb) = (
            program({"x": f"{batch}x3xf32"}, [("y", op, ["x"], f"{batch}x3xf32")], ["y"]) for _ in "ab"
        )
        return (a, b), [Class((va[n], vb[n]), ({va[n]: STRAIGHT}, {vb[n]: STRAIGHT})) for n in "xy"]

    (graphs, found), (larger, _), (others, _) = pair(2), pair(8), pair(8, "negate")
    [first, _] = resized(found, graphs, larger)
    assert first.first == found[0].first and next(iter(first.maps[1].values())).shape == (8, 3)
    with pytest.raises(ValueError, match="operations"):
        resized(found, graphs, others)
