"""Wrong values that a verdict must catch, made from right ones; and right values that it must not."""

import numpy as np
import pytest

from stackwars import workloads
from stackwars.measure import judge

SIZES = {"m": 257, "k": 64, "n": 389}
"""About 1e5 elements."""
ROUNDOFF = 2.0**-24
LIMIT = max(32, 4 * SIZES["k"] ** 0.5) * ROUNDOFF
OUTPUTS, _ = workloads.load("gemm").expected(SIZES, 2025)
PRODUCTS = {f"output{number}": value for number, value in enumerate(OUTPUTS)}
FRONTENDS = ("jax", "torch_xla", "tensorflow_xla")

KEYS = np.random.default_rng(0).integers(0, 50, 1000)
"""With many ties."""
SORTED = {
    "output0": np.argsort(KEYS, kind="stable").astype(np.int32),
    "output1": np.arange(-500, 500, dtype=np.int64) * 2**40,
}
LOGITS = {"output0": np.where(np.arange(60).reshape(6, 10) % 7 == 0, -np.inf, 1.0), "output1": np.ones((6, 10))}

LEFT, RIGHT = np.random.default_rng(1).standard_normal((2, 24, 24))
SQUARE = {"output0": LEFT @ RIGHT}


def judged(expected: dict, outputs: dict) -> dict:
    limits = dict.fromkeys(expected, LIMIT)
    calls = {f"{call}/{key}": value for call in ("first", "repeat") for key, value in outputs.items()}
    return judge.judge(calls, judge.Expected("NumPy in float64", "", limits, expected))


def rounded(values: dict) -> dict:
    return {
        key: value.astype(np.float32) if value.dtype == np.float64 else value.copy()
        for key, value in values.items()
    }


def mutant(expected: dict, change, key: str = "output0") -> dict:
    """Right outputs with one of them changed."""
    outputs = rounded(expected)
    outputs[key] = change(outputs[key])
    return outputs


def one_element(values):
    values[100, 200] += np.float32(0.05 * np.abs(values).max())
    return values


def tail(values):
    values[-1] = 0
    return values


def just_above(values):
    values[3, 5] += np.float32(1.1 * LIMIT * np.abs(values).max())
    return values


def everywhere_a_little(values):
    return values * np.float32(1 + 2 * LIMIT)


def swapped(values):
    return (RIGHT @ LEFT).astype(values.dtype)


def tie(values):
    keys = KEYS[values]
    place = next(place for place in range(500, 999) if keys[place] == keys[place + 1])
    values[[place, place + 1]] = values[[place + 1, place]]
    return values


def off_by_one(values):
    values[7] += 1
    return values


def bit(values):
    values[123] ^= 1 << 2
    return values


def nan(values):
    values[np.isneginf(values)] = np.nan
    return values


def lowest(values):
    """The usual stand-in for minus infinity."""
    values[np.isneginf(values)] = np.finfo(np.float32).min
    return values


MUTANTS = {
    "one wrong element of 1e5": (PRODUCTS, one_element, "output0", 1, "200 of axis 1"),
    "one wrong element with the other inputs": (PRODUCTS, one_element, "output1", 1, "100 of axis 0"),
    "a wrong tail": (PRODUCTS, tail, "output0", SIZES["n"], "the last 1 of axis 0"),
    "an error just above the limit": (PRODUCTS, just_above, "output0", 1, "3 of axis 0"),
    "a small error of every element": (PRODUCTS, everywhere_a_little, "output0", None, ""),
    "swapped arguments of the same shape": (SQUARE, swapped, "output0", None, ""),
    "an off-by-one tie": (SORTED, tie, "output0", 2, "another order, as of equal keys"),
    "an index off by one": (SORTED, off_by_one, "output0", 1, "7 of axis 0"),
    "a flipped bit of an integer": (SORTED, bit, "output1", 1, "123 of axis 0"),
    "NaN for minus infinity": (LOGITS, nan, "output0", 9, "from (0, 0)"),
    "the lowest number for minus infinity": (LOGITS, lowest, "output0", 9, "from (0, 0)"),
}
"""{name: (right values, what changes them, of which output, how many elements are wrong, what is said of where)}."""


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_value_is_caught(name):
    expected, change, key, wrong, where = MUTANTS[name]
    outputs = mutant(expected, change, key)
    found = judged(expected, outputs)
    assert found["wrong"] == wrong if wrong else found["wrong"] > 0
    assert where in found["where"]
    assert judge.problem(found)


@pytest.mark.parametrize("expected", [PRODUCTS, SORTED, LOGITS], ids=["floats", "integers", "infinities"])
def test_right_values_pass(expected):
    found = judged(expected, rounded(expected))
    assert (found["wrong"], judge.problem(found)) == (0, "")


def test_values_that_differ_by_one_rounding_of_each_element_pass():
    outputs = {key: np.nextafter(value, np.float32(9e9)) for key, value in rounded(PRODUCTS).items()}
    assert not judged(PRODUCTS, outputs)["wrong"]


def test_values_that_were_added_up_in_float32_pass_in_any_order():
    inputs = workloads.load("gemm").inputs(SIZES, 2025)
    left, right = inputs["left"], inputs["right"]
    order = np.random.default_rng(2).permutation(SIZES["k"])
    total = np.zeros((SIZES["m"], SIZES["n"]), np.float32)
    for k in order:
        total += left[:, k, None] * right[k]
    assert not judged({"output0": PRODUCTS["output0"]}, {"output0": total})["wrong"]


def test_frontends_that_are_wrong_alike_are_all_caught_and_the_right_one_is_not():
    outputs = dict.fromkeys(FRONTENDS[:2], mutant(PRODUCTS, tail)) | {FRONTENDS[2]: rounded(PRODUCTS)}
    wrong = {name: bool(judged(PRODUCTS, values)["wrong"]) for name, values in outputs.items()}
    assert wrong == {"jax": True, "torch_xla": True, "tensorflow_xla": False}
