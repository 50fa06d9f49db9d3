"""Verdicts on a program's outputs: the worst output, calls that differ, and the text of a verdict."""

import json

import numpy as np
import pytest

from stackwars.core import judge
from stackwars.core.judge import agreement, describe

BY = "NumPy in float64"
LIMIT = 1e-5


def expected(limits: dict | None = None, reason: str = "", **values) -> judge.Expected:
    arrays = {key: np.asarray(value, np.float64) for key, value in values.items()}
    return judge.Expected(BY, reason, limits or dict.fromkeys(arrays, LIMIT), arrays)


def verdict(**changes) -> dict:
    right = {"judge": BY, "wrong": 0, "total": 4, "where": "", "l2": 0.0, "largest": 0.0, "limit": LIMIT}
    return {**right, "flaky": False, **changes}


ONES = np.ones(4, np.float32)
OFF = np.array([1, 1, 1, 1.5], np.float32)


def test_right_outputs_have_their_errors_and_no_problem():
    close = ONES + np.float32(1e-6)
    found = judge.judge({"first/output0": ONES, "second/output1": close}, expected(output0=ONES, output1=ONES))
    assert found == verdict(l2=pytest.approx(1e-6, rel=0.1), largest=pytest.approx(1e-6, rel=0.1))
    assert judge.problem(found) == ""


def test_the_verdict_is_that_of_the_worst_output():
    outputs = {"first/output0": ONES, "second/output1": OFF, "first/state/w": ONES + np.float32(0.1)}
    values = expected(output0=ONES, output1=ONES, **{"state/w": ONES})
    found = judge.judge(outputs, values)
    assert (found["wrong"], found["total"], found["where"], found["largest"]) == (
        1, 4, "the last 1 of axis 0", 0.5,
    )  # fmt: skip
    # A large error that is allowed is not as bad as a small one that is not.
    loose = expected({"output0": 1.0, "output1": 1e-9, "state/w": 1.0}, **values.values)
    outputs["second/output1"] = ONES + np.float32(1e-6)
    found = judge.judge(outputs, loose)
    assert (found["wrong"], found["limit"]) == (4, 1e-9)
    assert found["largest"] < 1e-5


def test_an_output_that_is_missing_is_wrong_and_an_infinite_error_is_null_for_json_has_none():
    found = judge.judge({"first/output0": ONES}, expected(output0=ONES, **{"state/w": np.ones((2, 3))}))
    assert found == verdict(wrong=6, total=6, where="no result state/w", l2=None, largest=None)
    assert judge.problem(found) == f"6 of 6 elements wrong (no result state/w), by {BY}"
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_nothing_is_judged_without_expected_values():
    assert judge.judge({"first/output0": ONES}, expected(reason="it took too long")) is None
    assert judge.problem(None) == ""


def test_the_worst_of_processes_is_flaky_if_another_is_right():
    for place in range(3):
        verdicts = [verdict(largest=1e-6) for _ in range(3)]
        verdicts[place] = verdict(wrong=1, largest=0.5)
        assert judge.worst(verdicts) == verdict(wrong=1, largest=0.5, flaky=True)
    alike, infinite = verdict(wrong=1, largest=0.5), verdict(wrong=2, largest=None, l2=None)
    assert judge.worst([alike, alike]) == alike
    assert judge.worst([verdict(largest=1e-7), verdict(largest=1e-6)]) == verdict(largest=1e-6)
    assert judge.worst([alike, infinite, alike]) == infinite
    assert judge.worst([None, verdict()]) == verdict()
    assert judge.worst([None, None]) is judge.worst([]) is None
    assert judge.worst([alike, {**alike, "flaky": True}])["flaky"]


def test_files_are_read_as_written_and_small_limits_and_values_beyond_float32_keep_float64(tmp_path):
    arrays = {"a": np.array([1 / 3]), "b": np.array([1 / 3]), "c": np.array([1e300]), "d": np.array([-np.inf])}
    right = judge.Expected(BY, "", {"a": 1e-5, "b": 1e-9, "c": 1e-5, "d": 1e-5}, disputed=True)
    judge.write(tmp_path, arrays, right.document())
    found = judge.read(tmp_path)
    types = {"a": np.float32, "b": np.float64, "c": np.float64, "d": np.float32}
    assert {key: found.values[key].dtype for key in found.values} == types
    assert found.document() == right.document()
    # A failed evaluation has no arrays.
    (tmp_path / judge.ARRAYS).unlink()
    (tmp_path / judge.DOCUMENT).write_text(json.dumps(right.document() | {"reason": "out of memory"}))
    assert judge.read(tmp_path).reason == "out of memory"


RNG = np.random.default_rng(3)
VALUES = RNG.standard_normal((32_769, 3)).astype(np.float32)


def changed(change, values=VALUES):
    new = values.copy()
    change(new)
    return new


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


def test_rounding_is_no_error_and_one_that_every_element_shares_is_found_by_the_norm():
    found = agreement(VALUES, VALUES.astype(np.float64) * (1 + 1e-7), 1e-5)
    assert found.right and 0 < found.largest < 1e-6
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


def test_other_shapes_scalars_and_empty_arrays_and_scattered_elements():
    assert agreement(np.zeros((2, 3)), np.zeros((3, 2)), 1.0).wrong == 6
    assert agreement(np.float32(1.0), np.float64(1.0), 0.0).right
    assert agreement(np.zeros((0, 3)), np.zeros((0, 3)), 0.0).right
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
    for dtype in (np.uint32, np.bool_):
        right = np.arange(4).astype(dtype)
        found = agreement(np.append(right[:3], not right[3]).astype(dtype), right, 1.0)
        assert (found.wrong, found.where) == (1, "the last 1 of axis 0")
    large = indices * 2**40
    assert agreement(large + (indices == 999_999), large, 1.0).where == "the last 1 of axis 0"


SINGLE, BF16, F8 = 32 * 2.0**-24, 32 * 2.0**-8, 32 * 2.0**-4
# pytorch/pytorch 183815: a convolution in bfloat16 adds 784 terms, and differs from float64 by 0.003.
LONG = judge.least_limit(2.0**-8, 784)


@pytest.mark.parametrize(
    ("least", "rounding", "limit"),
    [
        (SINGLE, 0.0, SINGLE),
        (SINGLE, 1e-4, 8e-4),
        (SINGLE, 0.1, np.inf),
        (BF16, 0.02, BF16),
        (BF16, 0.2, np.inf),
        (F8, 0.0, np.inf),
        (LONG, 0.003, LONG),
        (LONG, 0.3, np.inf),
        (judge.least_limit(2.0**-4, 1), 0.1, np.inf),
    ],
)
def test_a_limit_is_useful_or_infinite(least, rounding, limit):
    assert judge.limit(least, rounding) == pytest.approx(limit)
    assert np.isinf(limit) or limit <= judge.USEFUL
