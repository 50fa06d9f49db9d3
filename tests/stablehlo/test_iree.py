"""IREE: its rewrites of a program's text, and small programs through the real parent and child."""

import json
import random

import handmade
import pytest

from running import python
from stackwars.core.compilers import iree
from stackwars.core.launch import REPOSITORY
from stackwars.measure.conduct import Participant, run_round
from stackwars.measure.stablehlo import replay_cell
from stackwars.measure.stablehlo.replay import ReplayJob
from stackwars.setup.environments import ensure

SETTINGS = {
    "seed": handmade.SEED, "memory_cap_gib": 4, "timeout_s": 300,
    "steady_min_blocks": 2, "steady_max_blocks": 2, "steady_seconds": 0.0, "block_calls": 2,
    "loop_pairs": 2,
}  # fmt: skip
ERF = (
    "%8 = stablehlo.custom_call @mhlo.erf(%7) {mhlo.attributes = {}, mhlo.version = 1 : i64} : "
    "(tensor<4x8xf32>) -> tensor<4x8xf32>"
)
TRUTHS = "%1 = stablehlo.convert %0 : (tensor<4xi1>) -> tensor<4xui8>"
# The same function as the others', by way of what IREE itself does not take.
REWRITTEN = handmade.TORCH.replace(
    "    return %4",
    """    %5 = stablehlo.compare EQ, %4, %4 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xi1>
    %6 = stablehlo.convert %5 : (tensor<16x64xi1>) -> tensor<16x64xui8>
    %t = stablehlo.compare NE, %6, %6 : (tensor<16x64xui8>, tensor<16x64xui8>) -> tensor<16x64xi1>
    %7 = stablehlo.convert %t : (tensor<16x64xi1>) -> tensor<16x64xf32>
    %z = stablehlo.subtract %7, %7 : tensor<16x64xf32>
    %8 = stablehlo.custom_call @mhlo.erf(%z) {mhlo.attributes = {}, mhlo.version = 1 : i64} \
: (tensor<16x64xf32>) -> tensor<16x64xf32>
    %9 = stablehlo.add %4, %8 : tensor<16x64xf32>
    return %9""",
)
REFUSED = handmade.JAX.replace("stablehlo.multiply", "stablehlo.no_such_operation")


def test_error_function_and_truth_values_are_rewritten_and_nothing_else():
    assert iree.rewritten(ERF) == "%8 = chlo.erf %7 : tensor<4x8xf32> -> tensor<4x8xf32>"
    assert iree.rewritten(TRUTHS) == TRUTHS.replace("ui8", "i8")
    assert iree.rewritten(handmade.TORCH) == handmade.TORCH


@pytest.mark.parametrize(
    "line",
    [
        "%2 = stablehlo.convert %1 : (tensor<4xui8>) -> tensor<4xf32>",
        "%2 = stablehlo.compare  LT, %1, %0 : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>",
        "%2 = stablehlo.maximum %1, %0 : tensor<4xui8>",
        "func.func @main(%0: tensor<4xui8>) -> tensor<4xf32> {",
    ],
)
def test_unsigned_integers_stay_where_a_signed_one_would_be_another_number(line):
    assert iree.rewritten(f"{TRUTHS}\n{line}") == f"{TRUTHS}\n{line}"


UNSIGNED = """
func.func public @main(%a: tensor<2x2xui32>, %b: tensor<i64>) -> (tensor<2x2xui32>, tensor<i64>) {
  %c = stablehlo.constant dense<7> : tensor<2x2xui32>
  %d = stablehlo.divide %a, %c : tensor<2x2xui32>
  return %d, %b : tensor<2x2xui32>, tensor<i64>
}
"""
CALL = """
import json, sys
import numpy as np
from stackwars.core.compilers import iree
compiler = iree.Compiler("cpu", {})
program = compiler.compile(sys.argv[1])
arrays = np.array([[4294967295, 6], [7, 15]]), np.array(-1)
program.buffers[0] = [
    compiler.put(array.astype(dtype)) for array, (_, dtype) in zip(arrays, program.types, strict=True)
]
found = program.fetch(program.call(0))
print(json.dumps([[str(kind[1]) for kind in program.types], [one.tolist() for one in found]]))
"""


@pytest.mark.env
def test_unsigned_arguments_and_results_are_unsigned():
    found = python("-c", CALL, UNSIGNED, pins="envs/iree.txt").stdout
    assert json.loads(found) == [["uint32", "int64"], [[[613566756, 0], [1, 2]], -1]]


@pytest.mark.env
def test_programs_are_replayed_and_the_one_that_is_refused_says_why(tmp_path):
    texts = {"jax": handmade.JAX, "torch_xla": REWRITTEN, "jax+refused": REFUSED}
    programs = {name: handmade.write(tmp_path, name, text) for name, text in texts.items()}
    cells = {"jax": handmade.write_cell(tmp_path / "cell", handmade.JAX)}
    job = ReplayJob(
        "gemm", "cpu", "smoke", "some-iree", "iree", {}, 0, "jax", handmade.SIZES, SETTINGS, programs,
        handmade.write_check(tmp_path / "check.json", programs), handmade.write_expected(tmp_path / "expected"),
    )  # fmt: skip
    python = ensure(REPOSITORY / "envs" / "iree.txt")
    one = Participant("replay", job, python, tmp_path / "process-0", replay_cell.REPLAYING, tuple(programs))
    result = run_round([one], SETTINGS, random.Random(1), 0)["replay"]
    assert (result["status"], result["status_detail"]) == ("ok", "")
    found = replay_cell.combine([{"replay": result}], cells, handmade.checked(programs))["programs"]
    for name in ("jax", "torch_xla"):
        assert found[name]["status"] == "ok", found[name]["status_detail"]
        assert 0 < found[name]["values"]["l2"] < 1e-6
        assert found[name]["optimised"]["dispatches"] >= 1
    assert found["jax+refused"]["status"] == "unsupported"
    assert "no_such_operation" in found["jax+refused"]["status_detail"]
