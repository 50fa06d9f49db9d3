"""Faults with public reports, from one file of text to a reproducer. Each fails when a new pin repairs the fault."""

import json
import re
import sys
from dataclasses import asdict

import pytest

from explain.faulty import PRODUCTS, SHIFT
from stackwars.explain import fault, reproducer
from stackwars.explain.question import CompilerSpec, Question, Side
from stackwars.explain.trial_outcomes import outcome_of, reason
from stackwars.explain.workers import Crashed, Refused, TimedOut
from stackwars.setup.environments import REPOSITORY

SQUARES = """
func.func @main(%x: tensor<32769x3xf32>, %m: tensor<3x3xf32>) -> tensor<32769xf32> {
  %t = stablehlo.tanh %x : tensor<32769x3xf32>
  %p = stablehlo.dot_general %m, %t, contracting_dims = [1] x [1] : (tensor<3x3xf32>, tensor<32769x3xf32>)
      -> tensor<3x32769xf32>
  %q = stablehlo.multiply %p, %p : tensor<3x32769xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<3x32769xf32>, tensor<f32>) -> tensor<32769xf32>
  %r = stablehlo.sqrt %s : tensor<32769xf32>
  return %r : tensor<32769xf32>
}
"""
"""jax-ml/jax issue 39103: rows over 32,768 get another row's value."""
LOOP = """
func.func @main(%x: tensor<32769x3xf32>, %m: tensor<3x3xf32>) -> tensor<32769x3xf32> {
  %first = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %first, %y = %x) : tensor<i32>, tensor<32769x3xf32>
   cond {
    %stop = stablehlo.constant dense<3> : tensor<i32>
    %again = stablehlo.compare LT, %i, %stop : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %again : tensor<i1>
  } do {
    %p = stablehlo.dot_general %m, %y, contracting_dims = [1] x [1] : (tensor<3x3xf32>, tensor<32769x3xf32>)
        -> tensor<3x32769xf32>
    %q = stablehlo.multiply %p, %p : tensor<3x32769xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<3x32769xf32>, tensor<f32>) -> tensor<32769xf32>
    %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<32769xf32>) -> tensor<32769x3xf32>
    %t = stablehlo.tanh %b : tensor<32769x3xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %t : tensor<i32>, tensor<32769x3xf32>
  }
  return %r#1 : tensor<32769x3xf32>
}
"""


def spec(name, module="xla"):
    return CompilerSpec(name, module, {}, str(REPOSITORY / "envs" / f"{name}.txt"))


def question(text, compiler, evaluator, tmp_path, **more):
    path = tmp_path / "program.mlir"
    path.write_text(text)
    return Question("it", Side("it", str(path)), spec(compiler), spec(evaluator), **more)


def heads(document):
    return [line.split(" ")[0].partition(".")[2] for line in document["region"] if "constant" not in line]


@pytest.mark.env
def test_wrong_values_are_reduced_to_the_reported_operations(tmp_path):
    document = fault.find(question(SQUARES, "xla-0.10.2", "xla-0.7.1", tmp_path), tmp_path)
    assert (document["kind"], document["verdict"]) == ("wrong", "reduced")
    assert heads(document) == ["dot_general", "multiply", "reduce"]
    assert document["operations"] == [5, 3]
    assert re.match("1 of 32,769 elements wrong", document["error"])
    assert document["cures"][0]["flag"] == "xla_cpu_experimental_ynn_fusion_type="
    assert document["lines"] == [f"program.mlir:{line}" for line in (4, 6, 7, 8)]
    # One file is enough, although the arrays are large.
    (tmp_path / "alone").mkdir()
    alone = (tmp_path / "reproduce.py").rename(tmp_path / "alone/reproduce.py")
    status, said = reproducer.run(alone, spec("xla-0.10.2").python(), 60)
    assert status == 1 and "element [32768]: expected" in said
    status, said = reproducer.run(alone, spec("xla-0.7.1").python(), 60)
    assert status == 0, said


@pytest.mark.env
def test_a_crash_is_reduced_each_trial_in_a_process_of_its_own(tmp_path):
    document = fault.find(question(PRODUCTS, "xla-0.10.2", "xla-0.7.1", tmp_path), tmp_path)
    assert (document["kind"], document["reproduced"]) == ("crash", True)
    assert heads(document) == ["multiply", "reduce"]
    assert "SIGSEGV in run" in document["error"]
    assert document["cures"][0]["flag"] == "xla_cpu_experimental_ynn_fusion_type="
    assert "FAULT: SIGSEGV" in (tmp_path / "reproduce.log").read_text()


@pytest.mark.env
def test_sizes_are_the_smallest_with_the_fault(tmp_path):
    def lower(sizes):
        path = tmp_path / f"{sizes['rows']}.mlir"
        path.write_text(SHIFT.format(n=sizes["rows"], m=sizes["rows"] - 1))
        return Side("other", str(path)) if sizes["rows"] > 1 else None

    asked = question(SHIFT.format(n=50, m=49), "xla-0.7.1", "xla-0.7.1", tmp_path, sizes={"rows": 50})
    document = fault.find(asked, tmp_path, lower)
    assert document["shapes"] == {"rows": 3}
    assert heads(document) == ["slice", "scatter", "reshape"]
    flags = [cure["flag"] for cure in document["cures"]]
    assert {"xla_disable_hlo_passes=algsimp", "xla_disable_hlo_passes=fusion"} <= set(flags)
    assert document["reproduced"] and "1 of 3 elements wrong" in document["error"]


@pytest.mark.env
def test_a_fault_in_a_loop_is_reduced_in_its_body(tmp_path):
    document = fault.find(question(LOOP, "xla-0.10.2", "xla-0.7.1", tmp_path), tmp_path)
    assert heads(document) == ["dot_general", "multiply", "reduce"]
    assert document["lines"] == ["program.mlir:4"] and document["reproduced"]


@pytest.mark.env
def test_a_refusal_is_reduced_to_the_operation(tmp_path):
    text = SQUARES.replace(
        "stablehlo.sqrt %s :", "stablehlo.custom_call @no_such_target(%s) : (tensor<32769xf32>) ->"
    )
    document = fault.find(question(text, "xla-0.10.2", "xla-0.7.1", tmp_path), tmp_path)
    assert (document["kind"], heads(document)) == ("refused", ["custom_call"])
    assert "no_such_target" in document["error"] and document["reproduced"]


@pytest.mark.env
def test_a_fault_of_the_text_that_its_operations_do_not_have_is_not_reduced(tmp_path):
    kind = "tensor<2x1x2x2x8x8x8xf32>"
    text = PRODUCTS.replace(f"%v: {kind}", f'%v: {kind} {{mhlo.memory_kind = "no such memory"}}')
    document = fault.find(question(text, "xla-0.7.1", "xla-0.7.1", tmp_path), tmp_path)
    assert (document["kind"], document["verdict"]) == ("refused", "not reduced"), document["error"]


@pytest.mark.env
def test_a_program_that_is_right_is_said_to_be(tmp_path):
    job = question(SQUARES, "xla-0.7.1", "xla-0.7.1", tmp_path, suspect="wrong")
    (tmp_path / "job.json").write_text(json.dumps(asdict(job)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fault", "--job", str(tmp_path / "job.json"), "--output", str(tmp_path)])
        fault.main()
    document = json.loads((tmp_path / "fault.json").read_text())
    assert document["verdict"] == "right"
    assert not (tmp_path / "reproduce.py").exists()


@pytest.mark.env
def test_a_frontend_lowers_again_with_other_sizes(tmp_path):
    job = {"framework": "jax", "dialect": "jax", "workload": "gemm", "variant": "base", "sizes": {}}
    job |= {"seed": 1, "matmul_precision": "highest"}
    how = {"lower": {"pins": str(REPOSITORY / "envs" / "jax.txt"), "job": job}}
    with fault.lowering(
        question("", "xla-0.7.1", "xla-0.7.1", tmp_path, sizes={"m": 9}, settings=how)
    ) as lower:
        assert "tensor<3x5xf32>" in lower({"m": 3, "k": 5, "n": 7}).text
        assert lower({"m": -1, "k": 5, "n": 7}) is None
        assert "tensor<2x2xf32>" in lower({"m": 2, "k": 2, "n": 2}).text


def test_messages_that_differ_in_particulars_are_one_reason():
    one = "RuntimeError: iree-compile said :4:12: error: failed to legalize operation 'chlo.scan' on %5"
    other = "RuntimeError: iree-compile said :9:3: error: failed to legalize operation 'chlo.scan' on %1"
    assert reason(one) == reason(other)
    assert reason(one) != reason(one.replace("chlo.scan", "chlo.erf"))


def test_outcomes_are_told_apart():
    crashes = [
        outcome_of(Crashed("SIGABRT", "compile", "")),
        outcome_of(Crashed("SIGABRT", "run", "")),
        outcome_of(Refused("CompilerCrash: SIGABRT in iree-compile, which said no")),
    ]
    assert [one.kind for one in crashes] == ["crash"] * 3
    assert crashes[0].signature == crashes[2].signature != crashes[1].signature
    assert outcome_of(TimedOut("no end")).kind == "hang"
    assert outcome_of(Refused("no")).kind == outcome_of(MemoryError("no")).kind == "refused"
