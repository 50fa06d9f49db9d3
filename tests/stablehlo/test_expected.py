"""Who computes the expected values, from small programs, and how far from them a right result may be."""

import json
import os
import re
import sys
import time

import handmade
import numpy as np
import pytest

from running import run_job
from stackwars.core import judge
from stackwars.core.client import CompilerSpec
from stackwars.measure import workloads
from stackwars.measure.stablehlo import expected
from stackwars.measure.stablehlo.expected import ExpectedJob
from stackwars.measure.workloads import values

XLA = "jaxlib 0.10.2"
SIZES = {"m": 3, "k": 40, "n": 5}
SCALED = """module @jit_f {{
  func.func public @main(%x: tensor<{m}x{k}xf32>, %y: tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST]
      : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
    %c = stablehlo.constant dense<{scale}> : tensor<{m}x{n}xf32>
    %1 = stablehlo.multiply %0, %c : tensor<{m}x{n}xf32>
    return %1 : tensor<{m}x{n}xf32>
  }}
}}
"""
OPERANDS = [{"kind": "input", "name": "left"}, {"kind": "input", "name": "right"}]
# A model without values in NumPy, and one product of its images with a weight.
MODEL = {
    "batch": 2, "image": 4, "patch": 2, "layers": 1, "hidden": 4, "heads": 1, "intermediate": 4, "labels": 5,
}  # fmt: skip
PRODUCT = """module @jit_f {
  func.func public @main(%w: tensor<5x48xf32>, %x: tensor<2x3x4x4xf32>) -> tensor<2x5xf32> {
    %0 = stablehlo.reshape %x : (tensor<2x3x4x4xf32>) -> tensor<2x48xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST]
      : (tensor<2x48xf32>, tensor<5x48xf32>) -> tensor<2x5xf32>
    return %1 : tensor<2x5xf32>
  }
}
"""
WEIGHTED = [
    {"kind": "weight", "name": "w", "shape": [5, 48], "axes": [0, 1]},
    {"kind": "input", "name": "pixel_values"},
]


def compute(folder, texts: dict, workload="gemm", sizes=SIZES, rows=OPERANDS, **changes):
    """The expected values as the workflow computes them, and their document."""
    programs = {name: handmade.write(folder, name, text, rows=rows) for name, text in texts.items()}
    job = {
        "workload": workload, "variant": "base", "sizes": sizes, "seed": handmade.SEED, "memory_cap_gib": 8,
        "timeout_s": 120, "programs": programs, **changes,
    }  # fmt: skip
    output = folder / "expected"
    run_job(sys.executable, "expected", job, output, pins="envs/xla-0.10.2.txt")
    return judge.read(output), json.loads((output / judge.DOCUMENT).read_text())


@pytest.mark.env
def test_a_workload_s_own_values_are_numpy_s_and_its_program_is_their_witness(tmp_path):
    found, document = compute(tmp_path, {"jax": SCALED.format(scale=1.0, **SIZES)})
    sets = workloads.load("gemm").input_sets(SIZES, handmade.SEED)
    assert (found.judge, found.reason, list(found.values)) == ("NumPy in float64", "", ["output0", "output1"])
    for number, one in enumerate(sets):
        right = one["left"].astype(np.float64) @ one["right"].astype(np.float64)
        np.testing.assert_allclose(found.values[f"output{number}"], right, rtol=1e-7)
    assert document["witness"]["program"] == "jax" and document["witness"]["largest"] < 1e-12
    assert document["accumulation"] == SIZES["k"]
    # A program that is wrong changes no value: the workload's own are judged by.
    other, document = compute(tmp_path / "other", {"jax": SCALED.format(scale=2.0, **SIZES)})
    assert document["witness"]["largest"] > 0.5
    np.testing.assert_array_equal(other.values["output0"], found.values["output0"])


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    """The expected values of a model that is small enough for the interpreter."""
    texts = {"jax": PRODUCT, "torch_xla": PRODUCT.replace("@jit_f", "@other")}
    return compute(tmp_path_factory.mktemp("interpreted"), texts, "vit_b16", MODEL, WEIGHTED)


@pytest.mark.env
def test_without_numpy_the_interpreter_judges_and_a_second_frontend_is_the_witness(interpreted):
    found, document = interpreted
    assert (found.judge, found.reason) == (f"{XLA}, the StableHLO interpreter in float64", "")
    assert document["witness"] == {"program": "torch_xla", "largest": 0.0}
    weight = values.leaf("w", (5, 48), handmade.SEED).astype(np.float64)
    for number, one in enumerate(workloads.load("vit_b16").input_sets(MODEL, handmade.SEED)):
        right = one["pixel_values"].reshape(2, 48).astype(np.float64) @ weight.T
        np.testing.assert_allclose(found.values[f"output{number}"], right, rtol=1e-6)
    rounding, limit = document["rounding"]["output0"], found.limits["output0"]
    assert 0 < rounding < 1e-5
    assert judge.MOST >= limit >= max(judge.ROUNDINGS * 2.0**-24, judge.MARGIN * rounding)


@pytest.mark.env
@pytest.mark.parametrize(
    ("texts", "program", "reason"),
    [
        ({"jax": "// no program: no such model\n", "torch_xla": PRODUCT}, "torch_xla", ""),
        ({"jax": "// no program: no such model\n"}, None, "no program to evaluate: no such model"),
        ({"jax": PRODUCT.replace("reshape", "nothing")}, None, "the reference evaluation failed: .*nothing"),
    ],
)
def test_a_program_that_is_missing_is_passed_over_and_what_cannot_be_evaluated_leaves_the_reason(
    tmp_path, texts, program, reason
):
    found, document = compute(tmp_path, texts, "vit_b16", MODEL, WEIGHTED)
    assert re.match(reason, found.reason) and bool(reason) == bool(found.reason)
    assert (document.get("program"), document.get("witness")) == (program, None)


@pytest.mark.env
def test_a_program_too_large_for_the_interpreter_is_evaluated_operation_by_operation(interpreted, tmp_path):
    # A sum for nothing, of 1e7 terms.
    large = PRODUCT.replace(
        "    return",
        "    %o = stablehlo.constant dense<1.0> : tensor<1024x10000xf32>\n"
        "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %s = stablehlo.reduce(%o init: %z) applies stablehlo.add across dimensions = [0, 1]\n"
        "      : (tensor<1024x10000xf32>, tensor<f32>) -> tensor<f32>\n"
        "    return",
    )
    found, document = compute(tmp_path, {"jax": large}, "vit_b16", MODEL, WEIGHTED)
    assert (found.judge, found.reason) == (f"{XLA}, operation by operation in float64", "")
    assert document["accumulation"] == 1024 * 10000
    # Limits grow with the longest sum.
    assert found.limits["output0"] >= judge.DEVIATIONS * (1024 * 10000) ** 0.5 * 2.0**-24
    assert found.limits["output0"] > interpreted[0].limits["output0"]
    for key, value in interpreted[0].values.items():
        np.testing.assert_allclose(found.values[key], value, rtol=1e-6)


def refuse() -> None:
    raise ValueError("no such value")


@pytest.mark.env
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (lambda: os.kill(os.getpid(), 9), "the reference evaluation failed"),
        (refuse, "the reference evaluation failed: ValueError: no such value"),
        (lambda: time.sleep(60), "the reference evaluation took too long"),
    ],
)
def test_an_evaluation_that_fails_leaves_the_reason(tmp_path, monkeypatch, how, reason):
    monkeypatch.setattr(type(workloads.load("gemm")), "expected", lambda *_: how())
    files = handmade.write(tmp_path, "jax", PRODUCT, rows=OPERANDS)
    job = ExpectedJob("gemm", "base", SIZES, handmade.SEED, 8, 3, {"jax": files})
    values_, document = expected.expected(job, CompilerSpec("never started", python="no python"))
    assert document["reason"].startswith(reason)
    assert (values_, document["limits"], document["workload"]) == ({}, {}, "gemm")
