"""Programs in a compiler: right, wrong, refused, crashed and too slow ones, and what has no compiler."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from stackwars.explain import native, outcomes, reference, workers
from stackwars.explain.native import NativeJob
from stackwars.explain.outcomes import CRASH, FAILED, HANG, REFUSED, RIGHT, UNJUDGED, WRONG, OutcomesJob
from stackwars.explain.question import SETTINGS, Question, Side
from stackwars.explain.workers import CompilerSpec
from stackwars.measure import judge

PINS = "envs/xla-0.10.2.txt"
ADD = """module {
  func.func public @main(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<8x4xf32>
    %1 = stablehlo.convert %0 : (tensor<8x4xf32>) -> tensor<8x4xi32>
    return %0, %1 : tensor<8x4xf32>, tensor<8x4xi32>
  }
}
"""
REFUSED_TEXT = ADD.replace("stablehlo.add %arg0, %arg0", '"stablehlo.nothing"(%arg0)').replace(
    ": tensor<8x4xf32>\n    %1", ": (tensor<8x4xf32>) -> tensor<8x4xf32>\n    %1"
)
# A loop that never ends.
HANGING = """module {
  func.func public @main(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>) {
    %t = stablehlo.constant dense<true> : tensor<i1>
    %0:2 = stablehlo.while(%a = %arg0, %b = %t) : tensor<8x4xf32>, tensor<i1>
    cond {
      stablehlo.return %b : tensor<i1>
    } do {
      %c = stablehlo.cosine %a : tensor<8x4xf32>
      stablehlo.return %c, %b : tensor<8x4xf32>, tensor<i1>
    }
    %1 = stablehlo.convert %0#0 : (tensor<8x4xf32>) -> tensor<8x4xi32>
    return %0#0, %1 : tensor<8x4xf32>, tensor<8x4xi32>
  }
}
"""
NO_PROGRAM = "// no program: torch says no\n"


def asked(side: dict[str, str], **settings: float) -> dict:
    """Return the question of a job whose first program this is."""
    xla = CompilerSpec("jaxlib-0.10.2", pins=PINS)
    return asdict(Question("x", Side(**side), xla, xla, settings=settings))


def job(folder: Path, reason: str = "", **texts: str) -> OutcomesJob:
    """Return a job of these programs, all judged as ADD is."""
    sides, expected = [], {}
    for label, text in texts.items():
        path = folder / f"{label}.mlir"
        path.write_text(text)
        sides.append({"label": label, "program": str(path), "arguments": ""})
        expected[label] = str(folder / "expected")
    result = OutcomesJob(asked(sides[0], seconds=0.02, timeout_s=30), sides, expected)
    (folder / "add").mkdir()
    (folder / "add" / "add.mlir").write_text(ADD)
    side = {"label": "add", "program": str(folder / "add" / "add.mlir"), "arguments": ""}
    values, document = reference.reference(replace(result, sides=[side]))
    judge.write(folder / "expected", values, {**document, "reason": reason or document["reason"]})
    return result


@pytest.mark.env
def test_the_reference_is_an_evaluation_in_float64_of_every_result_with_both_inputs(tmp_path):
    job(tmp_path, add=ADD)
    expected = judge.read(tmp_path / "expected")
    assert set(expected.values) == {"output0", "output1", "output0/1", "output1/1"} == set(expected.limits)
    assert expected.judge == "jaxlib 0.10.2, operation by operation in float64" and not expected.reason
    assert not np.array_equal(expected.values["output0"], expected.values["output1"])
    assert expected.values["output0/1"].dtype == np.int32


@pytest.mark.env
def test_right_wrong_refused_and_missing_programs_are_told_apart(tmp_path):
    wrong = ADD.replace("stablehlo.add", "stablehlo.multiply")
    found = outcomes.outcomes(job(tmp_path, right=ADD, wrong=wrong, refused=REFUSED_TEXT, missing=NO_PROGRAM))
    programs = found["programs"]
    assert {label: one["status"] for label, one in programs.items()} == {
        "right": RIGHT, "wrong": WRONG, "refused": REFUSED, "missing": REFUSED,
    }  # fmt: skip
    assert (
        programs["right"]["ms"] > 0 and programs["right"]["rounds"] >= 5 and programs["right"]["compile_s"] > 0
    )
    assert programs["wrong"]["wrong"] > 0 and programs["wrong"]["ms"] is None
    assert "elements wrong" in programs["wrong"]["detail"]
    assert programs["refused"]["emitted"] and not programs["missing"]["emitted"]
    assert programs["missing"]["detail"] == "torch says no"
    assert found["versions"]["jaxlib"] == "0.10.2"
    json.dumps(found)


@pytest.mark.env
def test_a_program_that_hangs_costs_the_others_nothing(tmp_path):
    wanted = job(tmp_path, right=ADD, hanging=HANGING, also_right=ADD)
    question = asked(wanted.sides[0], seconds=0.02, timeout_s=3)
    found = outcomes.outcomes(replace(wanted, question=question))["programs"]
    assert [one["status"] for one in found.values()] == [RIGHT, HANG, RIGHT]
    assert "no end after 3 s in run" in found["hanging"]["detail"]
    assert found["right"]["ms"] > 0 and found["also_right"]["ms"] > 0


@pytest.mark.env
@pytest.mark.parametrize("is_over", [False, True], ids=["as it is asked", "before"])
def test_a_program_that_crashes_costs_the_others_nothing(is_over, tmp_path, monkeypatch):
    run = workers.Worker.run

    def killing(self, name):
        if name == "crashing":
            self._child.kill()
            if is_over:
                self._child.wait()
        return run(self, name)

    monkeypatch.setattr(workers.Worker, "run", killing)
    found = outcomes.outcomes(job(tmp_path, crashing=ADD, right=ADD))["programs"]
    assert found["crashing"]["status"] == CRASH and "SIGKILL in run" in found["crashing"]["detail"]
    assert found["right"]["status"] == RIGHT and found["right"]["ms"] > 0


@pytest.mark.env
def test_without_a_reference_a_program_is_timed_and_not_called_right(tmp_path):
    (found,) = outcomes.outcomes(job(tmp_path, reason="no memory", a=ADD))["programs"].values()
    assert (found["status"], found["detail"]) == (UNJUDGED, "no memory") and found["ms"] > 0


def test_an_environment_that_cannot_be_built_is_every_program_s_failure(monkeypatch, tmp_path):
    def refuse(pins):
        raise outcomes.environments.BuildError("no build for this Python")

    monkeypatch.setattr(outcomes.environments, "ensure", refuse)
    side = {"label": "a", "program": "a.mlir", "arguments": ""}
    (found,) = outcomes.outcomes(OutcomesJob(asked(side), [side], {"a": "e"}))["programs"].values()
    assert (found["status"], found["detail"]) == (FAILED, "no build for this Python")


def test_a_refusal_names_its_operation():
    said = "Refused: failed to legalize operation 'stablehlo.fft' that was explicitly marked illegal"
    assert outcomes.operation_in(said) == "stablehlo.fft"
    assert outcomes.operation_in("no room on the disk") == ""


def test_numpy_is_timed_and_judged_beside_the_compilers(tmp_path):
    program = tmp_path / "double.py"
    program.write_text(
        "def inputs(rows=8):\n    return {'x': (rows, 4)}\n\ndef jax(x):\n    return 2 * x, x\n\n"
        "def numpy(x):\n    return 2 * x, x\n"
    )
    from stackwars import workloads

    values, _ = workloads.load(str(program)).expected({"rows": 8}, 1)
    right = {
        key: one for which, call in enumerate(values) for key, one in judge.output_values(call, which).items()
    }
    limits = {"judge": "NumPy", "reason": "", "limits": dict.fromkeys(right, 1e-6)}
    judge.write(tmp_path / "expected", right, limits)
    settings = {**SETTINGS, "seconds": 0.01}
    wanted = NativeJob("numpy", str(program), {"rows": 8}, 1, str(tmp_path / "expected"), settings)
    document = native.native(wanted)
    found = document["programs"]["numpy"]
    assert found["status"] == RIGHT and found["ms"] > 0 and "numpy" in document["versions"]
    judge.write(tmp_path / "expected", {key: one + 1 for key, one in right.items()}, limits)
    found = native.native(wanted)["programs"]["numpy"]
    assert found["status"] == WRONG and "elements wrong" in found["detail"] and found["ms"] is None
