"""Faults with public reports, from one program to a reproducer. Each fails when a new pin repairs the fault."""

import re
from dataclasses import replace

import numpy as np
import pytest

from explain.faulty import PRODUCTS, SHIFT
from explain.pairs import xla
from ir import spellings
from stackwars.core.judge import expected_values
from stackwars.core.program import Argument, Program, fixed
from stackwars.core.types import dtype, shape
from stackwars.explain import ablation, fault, reduction, reproducer
from stackwars.explain.files import drawn
from stackwars.explain.task import Task

pytestmark = pytest.mark.env
SQUARES = spellings.program(
    "%t = tanh %x : X; %p = dot_general %m, %t, contracting_dims = [1] x [1] : (M, X) -> P; %q = multiply %p, %p : P; "
    "%zero = constant dense<0.0> : F; "
    "%s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (P, F) -> R; "
    "%r = sqrt %s : R",
    "%x: X, %m: M", "R",
    X="tensor<32769x3xf32>", M="tensor<3x3xf32>", P="tensor<3x32769xf32>", R="tensor<32769xf32>", F="tensor<f32>",
)  # fmt: skip
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


def task(text, compiler, evaluator="xla-0.7.1", sizes=None, **more):
    """Return the task of a program whose arguments are drawn."""
    specs = [xla(pins.removeprefix("xla-"), pins) for pins in (compiler, evaluator)]
    return Task("it", program(text, sizes), *specs, **more)


def program(text, sizes=None):
    header = text[: text.index("->")]
    kinds = re.findall(r"%\w+: (tensor<[^>]*>)", header)
    arguments = [
        Argument(kind, lambda which, n=n, kind=kind: drawn(shape(kind), dtype(kind), n, which))
        for n, kind in enumerate(kinds)
    ]
    return Program("it", text, tuple(arguments), file="program.mlir", sizes=sizes or {})


PASSES = ablation.passes


@pytest.fixture(autouse=True)
def few_flags(monkeypatch):
    """Try four flags and no pass: each with which a program crashes starts a process again."""
    monkeypatch.setattr(ablation, "passes", lambda *_: [])
    flags = [(ablation.YNN, ""), (ablation.YNN, "LIBRARY_FUSION_TYPE_REDUCE")]
    flags += [("xla_backend_optimization_level", "0"), ("xla_cpu_enable_fast_math", True)]
    monkeypatch.setattr(ablation, "XLA_FLAGS", flags)


def heads(fault):
    return [line.split(" ")[0].partition(".")[2] for line in fault.region if "constant" not in line]


def test_wrong_values_are_reduced_to_the_reported_operations(tmp_path):
    asked = task(SQUARES, "xla-0.10.2")
    found = fault.find(asked, tmp_path)
    assert (found.kind, found.verdict) == ("wrong", "reduced")
    assert heads(found) == ["dot_general", "multiply", "reduce"]
    assert found.operations == [5, 3]
    assert re.match("1 of 32,769 elements wrong", found.error)
    assert found.cures[0] == "xla_cpu_experimental_ynn_fusion_type="
    assert found.lines == [f"program.mlir:{line}" for line in (4, 5, 6, 7)]
    assert found.reduced == (tmp_path / "reduced.mlir").read_text()
    # One file is enough, although the arrays are large.
    (tmp_path / "alone").mkdir()
    alone = tmp_path / "alone/reproduce.py"
    alone.write_text(found.script)
    status, printed = reproducer.run(alone, asked.compiler.python, 60)
    assert status == 1 and "element [32768]: expected" in printed
    status, printed = reproducer.run(alone, asked.evaluator.python, 60)
    assert status == 0, printed


def test_a_crash_is_reduced_each_trial_in_a_process_of_its_own(tmp_path):
    found = fault.find(task(PRODUCTS, "xla-0.10.2"), tmp_path)
    assert (found.kind, found.reproduced) == ("crash", True)
    assert heads(found) == ["multiply", "reduce"]
    assert "SIGSEGV in call" in found.error
    assert found.cures[0] == "xla_cpu_experimental_ynn_fusion_type="
    assert "FAULT: SIGSEGV" in (tmp_path / "reproduce.log").read_text()


CANCELLED = spellings.program(
    "%p = multiply %a, %x : T; %q = multiply %b, %x : T; %r = add %p, %q : T",
    "%a: T, %b: T, %x: T",
    "T",
    T="tensor<1xf32>",
)


def test_a_contracted_product_is_named_and_fast_math_is_no_cure(tmp_path):
    """openxla/xla 41579: a sum of two products that cancel."""
    asked = task(CANCELLED, "xla-0.7.1")
    values = [np.float32([value]) for value in (1e20, -1e20, 1e10)]
    asked = replace(asked, a=replace(asked.a, arguments=tuple(map(fixed, values))))
    found = fault.find(asked, tmp_path)
    assert (found.kind, heads(found)) == ("wrong", ["multiply", "multiply", "add"]), found.detail
    assert found.detail == "multiplications contracted into fused multiply-adds"
    assert "xla_backend_optimization_level=0" in found.cures
    assert any("fast_math" in row.variant for row in found.ablation)
    assert not any("fast_math" in cure for cure in found.cures)


def test_sizes_are_the_smallest_with_the_fault_and_passes_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(ablation, "passes", PASSES)

    def lower(sizes):
        rows = sizes["rows"]
        return program(SHIFT.format(n=rows, m=rows - 1)) if rows > 1 else None

    asked = task(SHIFT.format(n=50, m=49), "xla-0.7.1", sizes={"rows": 50}, lower=lower)
    found = fault.find(asked, tmp_path)
    assert found.shapes == {"rows": 3}
    assert heads(found) == ["slice", "scatter", "reshape"]
    assert {"xla_disable_hlo_passes=algsimp", "xla_disable_hlo_passes=fusion"} <= set(found.cures)
    assert found.reproduced and "1 of 3 elements wrong" in found.error


def test_a_fault_in_a_loop_is_reduced_in_its_body(tmp_path):
    found = fault.find(task(LOOP, "xla-0.10.2"), tmp_path)
    assert heads(found) == ["dot_general", "multiply", "reduce"]
    assert found.lines == ["program.mlir:4"] and found.reproduced


def test_a_refusal_is_reduced_to_the_operation(tmp_path):
    text = SQUARES.replace(
        "stablehlo.sqrt %s :", "stablehlo.custom_call @no_such_target(%s) : (tensor<32769xf32>) ->"
    )
    found = fault.find(task(text, "xla-0.10.2"), tmp_path)
    assert (found.kind, heads(found)) == ("unsupported", ["custom_call"])
    assert "no_such_target" in found.error and found.reproduced


def test_a_fault_of_the_text_that_its_operations_do_not_have_is_not_reduced(tmp_path):
    kind = "tensor<2x1x2x2x8x8x8xf32>"
    text = PRODUCTS.replace(f"%v: {kind}", f'%v: {kind} {{mhlo.memory_kind = "no such memory"}}')
    found = fault.find(task(text, "xla-0.7.1"), tmp_path)
    assert (found.kind, found.verdict) == ("unsupported", "not reduced"), found.error


def test_the_interpreter_finds_what_an_xla_computes_wrongly_alone(tmp_path, monkeypatch):
    def expected(worker, graph, values, **more):
        """Return expected values as if both XLAs negated wrongly, which the interpreter alone sees."""
        found = expected_values(worker, graph, values, **more)
        if graph.names and any(op.name == "stablehlo.negate" for op in graph.ops):
            found.values["output0"] = found.values["output0"] + 1
        return found

    monkeypatch.setattr(reduction, "expected_values", expected)
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %y = stablehlo.negate %x : tensor<4xf32>\n"
    text += "  %z = stablehlo.abs %y : tensor<4xf32>\n  return %z : tensor<4xf32>\n}"
    found = fault.find(task(text, "xla-0.7.1"), tmp_path)
    assert (found.kind, heads(found), found.reproduced) == ("wrong", ["negate"], True)
    assert "StableHLO interpreter" in found.judge


def test_a_program_without_a_fault_is_right_and_one_that_cannot_be_tried_has_failed(tmp_path):
    asked = task(PRODUCTS, "xla-0.7.1", suspect="wrong")
    found = fault.find(asked, tmp_path)
    # By operations and by the interpreter with both sets of inputs, and once as it is emitted.
    assert (found.verdict, found.detail) == ("right", "seen once: right in 5 further tries")
    for program, detail in (
        (replace(asked.a, arguments=()), "error: expected 2 arguments of it, got 0; fix: lower it again"),
        (Program("it", "nonsense", ()), "expected StableHLO text"),
        (Program("it", missing="torch says no"), "unsupported: torch says no"),
    ):
        found = fault.find(replace(asked, a=program), tmp_path)
        assert found.verdict == "failed" and detail in found.detail
    assert not (tmp_path / "reproduce.py").exists()
