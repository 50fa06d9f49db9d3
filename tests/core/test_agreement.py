"""Values that agree with a reference, and every way in which they may not."""

import numpy as np
import pytest

from stackwars.core.judge import agreement, describe

RNG = np.random.default_rng(3)
VALUES = RNG.standard_normal((32_769, 3)).astype(np.float32)


def changed(change, values=VALUES):
    new = values.copy()
    change(new)
    return new


def test_rounding_is_no_error():
    found = agreement(VALUES, VALUES.astype(np.float64) * (1 + 1e-7), 1e-5)
    assert found.right and 0 < found.largest < 1e-6


@pytest.mark.parametrize(
    ("change", "wrong", "where"),
    [
        (lambda v: v.__setitem__(-1, v[-1] + 0.01), 3, "the last 1 of axis 0"),
        (lambda v: v.__setitem__((slice(8, None, 8), 1), 9), 4096, "every 8. of axis 0 from 8 and 1 of axis 1"),
        (lambda v: v.__setitem__((5, 1), np.nan), 1, "5 of axis 0 and 1 of axis 1"),
        (lambda v: v.__setitem__(slice(2), -np.inf), 6, "the first 2 of axis 0"),
        (lambda v: v.__setitem__((slice(None), [0, 2]), 7), 65_538, "every 2. of axis 1 from 0"),
        # Just over the limit.
        (lambda v: v.__setitem__((3, 1), v[3, 1] + 1.1e-4 * abs(v).max()), 1, "3 of axis 0 and 1 of axis 1"),
    ],
)
def test_one_wrong_part_of_many_is_found_and_described(change, wrong, where):
    found = agreement(changed(change), VALUES, 1e-4)
    assert (found.right, found.wrong, found.where) == (False, wrong, where)


def test_an_error_that_every_element_shares_is_found_by_the_norm():
    found = agreement(changed(lambda v: v.__imul__(1 + 2e-5)), VALUES, 1e-5)
    assert not found.right and found.l2 == pytest.approx(2e-5, rel=0.01)
    # No element is far from the largest value, and all are too far from their own.
    assert agreement(np.full(9, 1.00001), np.append(np.ones(8), 2.0), 1e-5).wrong


def test_infinities_and_not_a_number_are_values():
    reference = np.array([1.0, np.nan, -np.inf, np.inf])
    assert agreement(reference.astype(np.float32), reference, 1e-6).right
    for place, value in ((1, 0.0), (2, np.inf), (3, 1e30), (0, np.nan)):
        found = agreement(changed(lambda v, p=place, x=value: v.__setitem__(p, x), reference), reference, 1e-6)
        assert found.wrong == 1 and np.isinf(found.largest)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.bool_])
def test_integers_are_equal_or_wrong(dtype):
    reference = np.arange(16).reshape(4, 4).astype(dtype)
    assert agreement(reference, reference, 1.0).right
    values = changed(lambda v: v.__setitem__((3, 3), not v[3, 3] if dtype is np.bool_ else 14), reference)
    found = agreement(values, reference, 1.0)
    assert (found.wrong, found.where) == (1, "the last 1 of axis 0 and the last 1 of axis 1")


def test_other_shapes_scalars_and_empty_arrays():
    assert agreement(np.zeros((2, 3)), np.zeros((3, 2)), 1.0).wrong == 6
    assert agreement(np.float32(1.0), np.float64(1.0), 0.0).right
    assert agreement(np.zeros((0, 3)), np.zeros((0, 3)), 0.0).right


def test_scattered_elements_have_a_first_and_a_last():
    mask = np.zeros((4, 4), bool)
    mask[[0, 2, 3], [1, 2, 0]] = True
    assert describe(mask) == "from (0, 1) to (3, 0)"


def test_whole_numbers_are_compared_exactly_even_with_floating_point_values():
    indices = np.arange(1_000_000)
    swapped = indices.copy()
    swapped[[7, 8]] = swapped[[8, 7]]
    found = agreement(swapped, indices.astype(np.float64), 1e-5)
    assert (found.wrong, found.largest) == (2, 1.0)
    assert found.where == "7 to 8 of axis 0; the right values in another order, as of equal keys in a sort"
    large = indices * 2**40
    assert agreement(large + (indices == 999_999), large, 1.0).where == "the last 1 of axis 0"
