"""Why a program compiles long: planted causes, a program that does not, and the answer as text."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explain.pairs import drawn_program, program, xla
from explain.test_cli import ADD
from explain_fixture import FOUND, MACHINE, NEW, REGION, TABLE, cell, right
from snapshots import assert_snapshot
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.program import Graph, Op, Program
from stackwars.explain import compile_time, console, page, table
from stackwars.explain.answer import COMPUTED, OPERATIONS, REPEATED, Answer, Cause, Interval, Option, Share
from stackwars.explain.compile_time import groups, pass_seconds, region, without
from stackwars.explain.page import headline
from stackwars.explain.reduction import Subsets
from stackwars.explain.task import COMPILE, Settings, Task
from stackwars.study.workflow import explain

LONG_S = 0.4
"""Seconds in place of those of `table`: programs that compile so long leave less of a test to wait for."""
SIDE = 40
KIND = f"tensor<{SIDE}x{SIDE}xf32>"
WEIGHTS = np.linspace(0, 1, SIDE * SIDE, dtype=np.float32)


def hexadecimal(array: np.ndarray) -> str:
    return array.tobytes().hex().upper()


FOLDED = f"""func.func @main(%x: {KIND}) -> {KIND} {{
  %s = stablehlo.constant dense<"0x{hexadecimal(WEIGHTS + 1)}"> : {KIND}
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %w = "stablehlo.reduce_window"(%s, %zero) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }}) {{window_dimensions = array<i64: 15, 15>, padding = dense<7> : tensor<2x2xi64>}}
    : ({KIND}, tensor<f32>) -> {KIND}
  %y = stablehlo.add %x, %w : {KIND}
  return %y : {KIND}
}}
"""
ONES = f"""  %none = stablehlo.constant dense<0.0> : {KIND}
  %one = stablehlo.constant dense<1.0> : {KIND}
  %m = stablehlo.multiply %x, %none : {KIND}
  %n = stablehlo.add %m, %one : {KIND}
  %r = stablehlo.add %s, %n : {KIND}
"""
NOT_FOLDED = (
    FOLDED.replace(hexadecimal(WEIGHTS + 1), hexadecimal(WEIGHTS))
    .replace("  %zero", f"{ONES}  %zero")
    .replace("(%s, %zero)", "(%r, %zero)")
)
"""The same values, which depend on an argument."""


def search(*texts: str) -> Cause:
    spec, settings = xla("0.10.2"), Settings(seconds=0.05, ask=COMPILE)
    with Worker(spec) as worker:
        programs = [drawn_program(worker, text, label) for text, label in zip(texts, "ab", strict=False)]
    return compile_time.find(Task("t", programs[0], spec, spec, *programs[1:], settings=settings), print)


@pytest.mark.slow
@pytest.mark.env
def test_the_cause_of_a_long_compilation_is_named_and_reproduced(tmp_path, monkeypatch):
    for module in (table, compile_time):
        monkeypatch.setattr(module, "LONG_S", LONG_S)
    program = tmp_path / "public" / "unrolled_steps.py"
    program.parent.mkdir()
    text = (Path(__file__).parent / "public" / program.name).read_text()
    program.write_text(re.sub(r"(?<=def inputs)\(.*\)", "(steps=24, width=48)", text))
    command = [str(program), "--ask", "compile", "--output", str(tmp_path)]
    command += ["--compilers", "jaxlib-0.10.2", "--frontends", "jax"]
    answer = explain.explain(explain.request(explain.parser().parse_args(command), print))
    found = answer.causes[-1]
    assert (found.verdict, found.b) == ("cause", None), found.detail
    assert found.closed.share >= 0.8 and found.a_ms >= 1000 * LONG_S and found.growth["steps"].value > 0.6
    region = found.regions[0]
    assert (region.what, region.count) == (REPEATED, 24) and "dot_general" in " ".join(region.a)
    assert region.line_a.startswith("public/unrolled_steps.py:")
    assert any(compile_time.LEVEL in option.flag for option in found.options)
    assert (tmp_path / "reproduce.py").read_text() == found.script and "dot_general" in answer.headline
    [seconds] = list(answer.table.stages.values())
    assert seconds["tracing"] > 0 and seconds["lowering"] > 0


@pytest.mark.slow
@pytest.mark.env
def test_what_one_of_two_programs_folds_is_why_it_takes_longer_to_compile():
    found = search(NOT_FOLDED, FOLDED)
    assert (found.verdict, found.a, found.b) == ("cause", "b", "a"), found.detail
    assert found.closed.low > 0.7 and found.ratio.low > 1.5
    assert ["stablehlo.constant" in region.a[0] for region in found.regions] == [True]
    assert found.options[0].flag.endswith("constant_folding")


@pytest.mark.env
def test_a_program_that_does_not_compile_long_has_no_cause():
    found = search(ADD)
    assert found.verdict == "no cause" and not found.regions and found.a_ms < 2000
    assert search(ADD, ADD).verdict == "no gap"


def test_a_pass_has_its_seconds_without_those_of_the_passes_in_it():
    printed = """I0000 00:00:1.1  7 hlo_pass_pipeline.cc:145]   HLO pass simplification
I0000 00:00:1.1  7 hlo_pass_pipeline.cc:145]   HLO pass algsimp
I0000 00:00:1.1  7 hlo_pass_pipeline.cc:143] HLO pass: algsimp time: 250 ms (cumulative: 250 ms, max: 250 ms)
I0000 00:00:1.1  7 hlo_pass_pipeline.cc:145]   HLO pass constant_folding
I0000 00:00:1.1  7 hlo_pass_pipeline.cc:143] HLO pass: constant_folding time: 1.5 s (cumulative: 1.5 s, max: 1.5 s)
I0000 00:00:1.1  7 hlo_pass_pipeline.cc:143] HLO pass: simplification time: 2 s (cumulative: 2 s, max: 2 s)
"""
    found = pass_seconds(printed)
    assert found == pytest.approx({"constant_folding": 1.5, "algsimp": 0.25, "simplification": 0.25})
    assert next(iter(found)) == "constant_folding"
    assert pass_seconds("HLO pass: dce time: 20 us (\n" * 2) == pytest.approx({"dce": 4e-5})
    assert pass_seconds("Compiling module main\n") == {}


PLACE = "start_indices = array<i64: {}>, limit_indices = array<i64: {}>, strides = array<i64: 1>"
CHAIN = [
    ("c", "iota", [], "2048xf32", "iota_dimension = 0 : i64"), ("s", "sine", ["c"], "2048xf32"),
    ("y", "add", ["x", "s"], "2048xf32"), ("z", "tanh", ["y"], "2048xf32"),
    ("a", "slice", ["z"], "2xf32", PLACE.format(0, 2)), ("b", "slice", ["z"], "3xf32", PLACE.format(4, 7)),
]  # fmt: skip
"""A value of constants alone, two operations, and two copies of one of an unrolled loop."""


def names(ops: Iterable[Op]) -> list[str]:
    return [op.name.rpartition(".")[2] for op in ops]


def test_operations_that_are_taken_out_leave_arguments_and_results():
    graph, _ = program({"x": "2048xf32"}, CHAIN, ["a", "b"])
    found = groups(Program("p"), graph)
    assert list(map(names, found)) == [["sine"], ["add"], ["tanh"], ["slice", "slice"]]
    rest = Graph.read(without(graph, found[:1]))
    assert names(rest.ops) == ["iota", "add", "tanh", "slice", "slice"]
    assert len(rest.arguments) == 2 and len(rest.results) == 3
    rest = Graph.read(without(graph, found))
    assert names(rest.ops) == ["iota"] and len(rest.arguments) == 3


def test_what_is_computed_while_compiling_is_told_from_copies_and_other_operations():
    graph, _ = program({"x": "2048xf32"}, CHAIN, ["a", "b"])
    computed, add, _, slices = groups(Program("p"), graph)
    found = [region(Program("p"), Subsets(graph), ops, 1.0, 1e9) for ops in (computed, add, slices * 4)]
    assert [(one.what, one.count) for one in found] == [(COMPUTED, 1), (OPERATIONS, 1), (REPEATED, 8)]
    assert found[0].reason.sentence == "with their results as arguments it compiles in 1.00 s of the processor"


def compiled(program: str, seconds: float) -> object:
    return replace(cell(program, NEW, replace(right(1.0), timing=None)), compile_cpu_s=seconds)


def questions(*seconds: float) -> list[str]:
    cells = [compiled(name, one) for name, one in zip("ab", seconds, strict=False)]
    return [one.id for one in table.questions(cells, [CompilerSpec(NEW)], Settings(ask=COMPILE))]


def test_long_compilations_and_differences_over_a_twentieth_of_a_second_are_questions():
    assert questions(0.10, 0.06) == [] and questions(0.30, 0.06) == [f"{NEW}.a.b"]
    assert questions(1.9) == [] and questions(2.1) == [f"{NEW}.a"]
    assert questions(9.0, 3.0) == [f"{NEW}.a.b", f"{NEW}.a"]


def test_the_answer_at_80_columns_and_its_headline():
    cells = [replace(compiled("jax", 3.21), ratio=1.0), replace(compiled("torch_xla", 0.4), ratio=0.12)]
    shown = replace(
        TABLE, cells=cells, ask=COMPILE, machine=MACHINE, stages={"jax": {"tracing": 0.0123, "lowering": 0.2}}
    )
    region = replace(
        REGION, what=COMPUTED, share=1.0, a=["stablehlo.reduce_window"], b=["stablehlo.reduce_window"]
    )
    found = replace(
        FOUND, compiler=NEW, a="jax", b=None, ask=COMPILE, a_ms=3210.0, b_ms=None, ratio=None,
        closed=Share(0.97, 0.95, 0.99),
        regions=[replace(region, a_ms=None, b_ms=None)], passes={"constant_folding": 3.02},
        growth={"rows": Interval(2.04, 1.9, 2.2)}, reduced="module {}", script="import sys\n",
        options=[Option(NEW, "xla_disable_hlo_passes=constant_folding", 0.05, 0.96)],
    )  # fmt: skip
    answer = Answer("mha", "T", "c", "mha", {}, 1, "", {}, "", 0, shown, [found])
    text = console.wrapped([*console.lines(shown), console.paragraph(found), headline(answer)])
    assert max(map(len, text.splitlines())) <= console.WIDTH
    assert_snapshot("compile.txt", text)
    assert "is outside of passes" not in text
    assert "the rest of 3.21 s is outside" in console.paragraph(replace(found, passes={"cse": 0.1}))
    assert page.exit_status(replace(shown, programs=["jax"]), [found], is_pair=False) == page.SLOWER
    shown_page = page.html(answer)
    assert "compiles long in" in shown_page and "constant_folding" in shown_page and "module {}" in shown_page
