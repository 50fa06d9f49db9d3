"""The odd one of several programs and numpy() is named, and the others keep their expected values."""

import sys
from types import SimpleNamespace

import handmade
import numpy as np
import pytest

from running import check_programs, run_job
from stackwars.core import judge
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.measure import workloads
from stackwars.measure.stablehlo import expected
from stackwars.measure.stablehlo.expected import ExpectedJob, type_difference

JOB = ExpectedJob("vit_b16", "base", {}, 1, 8, 60, {})
RIGHT, OTHER, THIRD = (
    {"output0": np.full(4, value), "output1": np.full(4, value)} for value in (1.0, 2.0, 3.0)
)
BY_ROUNDING = {key: value.copy() for key, value in RIGHT.items()}
XLA_PINS = "envs/xla-0.10.2.txt"


@pytest.fixture(autouse=True)
def untested(monkeypatch):
    """Let numpy() of the workload be as fallible as that of a program file."""
    monkeypatch.setattr(type(workloads.load(JOB.workload)), "IS_REFERENCE_TESTED", False)


class Evaluation:
    """A program whose values are known."""

    alone, least_limit, roundoff = False, 1e-6, 2.0**-24

    def __init__(self, name, values, kind="f32", names=()):
        self.name, self._values, self.result_types = name, values, {"output": kind}
        self.graph, self.random_operations = SimpleNamespace(accumulation=1), set(names)
        self.asked = 0

    def left_open(self, sets, *, has_reference):
        return "rounding decides" if self._values is BY_ROUNDING else ""

    def outputs(self, double, sets):
        self.asked += 1
        if self._values is None:
            raise Failed(Outcome(Status.TIMEOUT, "too slow"))
        return {key: value for key, value in self._values.items() if int(key[-1]) < sets}, f"judge {self.name}"


def decide(by_numpy=None, **programs):
    """Return (values, document, evaluations) of programs with these values."""
    known = [Evaluation(name, values) for name, values in programs.items()]
    return *expected._by_program(JOB, known, by_numpy, double=True), known


def test_numpy_and_a_program_outvote_the_other():
    values, found, _ = decide(RIGHT, jax=OTHER, torch_xla=RIGHT)
    assert values is RIGHT and "reason" not in found and found["judge"] == expected.NUMPY
    odd = "jax is the odd one, numpy(), torch_xla agree: output0 differs by 1.0e+00"
    # Limits follow from a program that is right.
    assert (found["odd"], found["program"]) == ({"jax": odd}, "torch_xla")


def test_programs_that_differ_where_rounding_decides_are_of_one_computation():
    """tensorflow/tensorflow 120234: variances of equal numbers by two formulas."""
    values, found, _ = decide(jax=BY_ROUNDING, torch_xla=OTHER, tensorflow_xla=OTHER)
    assert values
    assert found["left_open"] and not {"disputed", "odd", "reason"} & {key for key in found if found[key]}


def test_programs_that_agree_against_numpy_make_it_the_odd_one():
    values, found, _ = decide(RIGHT, jax=OTHER, torch_xla=OTHER)
    assert not values and found["disputed"]
    assert found["reason"].startswith("vit_b16: numpy() is the odd one, jax, torch_xla agree: output0 differs")


@pytest.mark.parametrize("odd", ["jax", "torch_xla", "torchax"])
def test_three_programs_outvote_one_and_the_third_is_evaluated_only_if_the_first_two_differ(odd):
    programs = dict.fromkeys(("jax", "torch_xla", "torchax"), RIGHT) | {odd: OTHER}
    values, found, known = decide(**programs)
    assert [one.asked > 0 for one in known] == [True, True, odd != "torchax"] and "reason" not in found
    assert list(found.get("odd", {})) == [odd][: odd != "torchax"]
    np.testing.assert_array_equal(values["output1"], RIGHT["output1"])
    assert found["judge"] == ("judge torch_xla" if odd == "jax" else "judge jax")


@pytest.mark.parametrize(
    ("by_numpy", "programs"),
    [
        (None, {"jax": RIGHT, "torch_xla": OTHER}),
        (None, {"jax": RIGHT, "torch_xla": OTHER, "torchax": THIRD}),
        (RIGHT, {"jax": OTHER}),
        (RIGHT, {"jax": OTHER, "torch_xla": THIRD}),
        (RIGHT, {"jax": OTHER, "torch_xla": OTHER, "torchax": RIGHT}),
    ],
)
def test_nothing_is_decided_without_a_majority(by_numpy, programs):
    values, found, _ = decide(by_numpy, **programs)
    assert not values and found["disputed"] and "are not of one computation: output0 differs" in found["reason"]


@pytest.mark.parametrize("other", [RIGHT, OTHER])
@pytest.mark.parametrize("by_numpy", [None, RIGHT])
def test_a_program_that_draws_random_numbers_judges_nobody_and_is_no_other_computation(other, by_numpy):
    """Dropout of two frameworks, one with the operation of the compiler."""
    known = [Evaluation("jax", RIGHT), Evaluation("torch_xla", other, names={"stablehlo.rng"})]
    values, found = expected._by_program(JOB, known, by_numpy, double=True)
    assert not values and "disputed" not in found
    assert found["reason"].startswith("the program of torch_xla draws random numbers (stablehlo.rng)")


def test_a_witness_that_cannot_be_evaluated_is_none():
    values, found, _ = decide(jax=RIGHT, torch_xla=None)
    assert values and "reason" not in found and "witness" not in found


def test_types_of_results_that_differ_are_named():
    types = {"jax": {"output": "bf16", "output/1": "i32"}, "torch_xla": {"output": "f64", "output/1": "i64"}}
    assert type_difference(types) == "output has other types: jax returns bf16, torch_xla returns f64"
    assert not type_difference({name: {"output": "f32"} for name in types})
    known = [Evaluation("jax", RIGHT), Evaluation("torch_xla", RIGHT, "f64")]
    assert "torch_xla returns f64" in expected._by_program(JOB, known, None, double=True)[1]["difference"]


class Narrow(Evaluation):
    """A program with a result beyond its type: finite in float64, unless single operations evaluate it."""

    def outputs(self, double, sets):
        exact = np.inf if self.alone or not double else 200.0
        return {f"output{number}": np.array([1.0, exact]) for number in range(sets)}, self.name


def test_a_value_beyond_its_type_is_expected_to_be_an_infinity():
    """openxla/xla issue 42732: the logarithm of an exponential that overflows float32."""
    known = [Narrow("jax", {}), Narrow("torch_xla", {})]
    values, found = expected._by_program(JOB, known, None, double=True)
    assert "reason" not in found and np.isinf(values["output0"][1])
    # numpy() says in float64 that it is finite, and nothing says which is meant.
    by_numpy = {"output0": np.array([1.0, 200.0])}
    values, found = expected._by_program(JOB, [Narrow("jax", {})], by_numpy, double=True)
    assert "amplifies rounding without bound" in found["reason"]


PROGRAM = """
import numpy as np

def inputs():
    return {"x": (3, 4)}

def numpy(x):
    return x.sum(axis=1)

def jax(x):
    return x.sum(axis=1)

def torch(x):
    return x.sum(axis=1)
"""
SUM = """func.func public @main(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""


@pytest.mark.env
def test_a_wrong_lowering_is_wrong_and_the_other_program_right(tmp_path):
    (tmp_path / "sums.py").write_text(PROGRAM)
    rows, common = [{"kind": "input", "name": "x"}], {"workload": str(tmp_path / "sums.py"), "sizes": {}}
    texts = {"jax": SUM, "torch_xla": SUM.replace("stablehlo.add", "stablehlo.maximum")}
    programs = {name: handmade.write(tmp_path, name, text, rows=rows) for name, text in texts.items()}
    settings = {"seed": 1, "memory_cap_gib": 8}
    job = {**common, **settings, "variant": "base", "timeout_s": 60, "programs": programs}
    run_job(sys.executable, "expected", job, tmp_path / "expected", pins=XLA_PINS)
    assert judge.read(tmp_path / "expected").reason == ""
    job = {
        **common, "settings": settings | {"check_timeout_s": 60}, "programs": programs,
        "expected": str(tmp_path / "expected"),
    }  # fmt: skip
    found = check_programs(XLA_PINS, job, tmp_path / "check")["programs"]
    assert found["jax"]["status"] == "ok"
    assert found["torch_xla"]["status"] == "wrong" and found["torch_xla"]["wrong"] == 3
    assert found["torch_xla"]["status_detail"].startswith(
        "torch_xla is the odd one, numpy(), jax agree: output0"
    )
