"""Dividing a program into regions that are timed alone."""

from dataclasses import replace

import numpy as np
import pytest

from explain.pairs import DOT, TRANSPOSE, drawn_program, program, xla
from ir import spellings
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.program import Graph, Program
from stackwars.explain import compiler_gap
from stackwars.explain.answer import Share
from stackwars.explain.cause import find
from stackwars.explain.task import Kept, Settings, Task

F = "4x4xf32"


@pytest.fixture
def layers():
    """Two equal layers, product and tanh, with a transposed weight; then a sum with the first layer's output."""
    lines = [
        ("t", "transpose", ["w"], F, TRANSPOSE),
        ("p", "dot_general", ["x", "t"], F, DOT),
        ("y", "tanh", ["p"], F),
        ("q", "dot_general", ["y", "t"], F, DOT),
        ("z", "tanh", ["q"], F),
        ("sum", "add", ["z", "y"], F),
    ]
    return program({"x": F, "w": F}, lines, ["sum"])[0]


def names(region):
    return [op.name.removeprefix("stablehlo.") for _, op in region.ops]


def test_a_region_begins_at_a_product_and_takes_what_follows(layers):
    first, second = compiler_gap.regions(layers)
    assert names(first) == ["transpose", "dot_general", "tanh"]
    assert names(second)[-1] == "add"
    # The transposed weight depends on an argument alone: both have it.
    assert "transpose" in names(second)


def test_regions_read_earlier_ones_alone_and_are_written_as_programs(layers):
    made: set[int] = set(layers.arguments)
    for region in compiler_gap.regions(layers):
        assert {value for _, value in region.arguments} <= made
        made |= {value for _, value in region.results}
        again = Graph.read(region.text)
        assert [op.name for op in again.ops] == [op.name for _, op in region.ops]
        assert len(again.arguments) == len(region.arguments)
        assert len(again.results) == len(region.results)
    assert set(layers.results) <= made


def test_equal_layers_are_one_kind():
    lines = []
    for number in range(3):
        lines.append((f"p{number}", "dot_general", [f"y{number - 1}" if number else "x", "w"], F, DOT))
        lines.append((f"y{number}", "tanh", [f"p{number}"], F))
    graph, _ = program({"x": F, "w": F}, lines, ["y2"])
    assert [len(kind) for kind in compiler_gap.kinds(graph)] == [3]


def test_a_program_without_such_operations_is_one_region():
    graph, _ = program({"x": F, "w": F}, [("y", "tanh", ["x"], F), ("z", "add", ["y", "w"], F)], ["z"])
    (region,) = compiler_gap.regions(graph)
    assert names(region) == ["tanh", "add"]
    assert region.results == tuple((0, value) for value in graph.results)
    assert {value for _, value in region.arguments} == set(graph.arguments)


def timed(count, first, second, refused=False):
    times = np.array([[first] * compiler_gap.TURNS, [second] * compiler_gap.TURNS])
    return compiler_gap.TimedKind([None] * count, times, is_refused=refused)


@pytest.mark.parametrize(
    ("share", "verdict"),
    [((0.93, -0.11, 1.97), "not separable"), ((0.93, 0.8, 1.06), "cause"), ((0.5, 0.4, 0.6), "spread"),
     ((7.06, 0.26, 13.86), "not separable"), ((1.3, 1.2, 1.4), "not separable"), ((1.0, None, None), "cause")],
)  # fmt: skip
def test_a_share_whose_interval_holds_nothing_or_beyond_the_gap_is_no_cause(share, verdict):
    assert compiler_gap.account([timed(1, 5.0, 2.0)], Share(*share)) == verdict
    assert compiler_gap.account([], Share(0.0, 0.0, 0.0)) == "spread"


def test_every_region_of_a_kind_counts_and_kinds_that_are_not_in_the_account_are_counted():
    assert timed(3, 5.0, 2.0).difference().tolist() == [9.0] * compiler_gap.TURNS
    rows = [timed(1, 0.0, 0.0, refused=True), timed(1, 5e6, 2e6), timed(1, 4e4, 3e4)]
    assert compiler_gap.format_left_out(rows) == (
        "; 1 of 3 kinds could not be timed alone; 1 of 3 kinds take less than 0.05 ms alone, the cost of a call"
    )
    assert compiler_gap.format_left_out(rows[1:2]) == ""


def test_fast_math_is_no_option_of_a_gap(tmp_path, monkeypatch):
    names = ("xla_cpu_enable_fast_math=True", "xla_x=1")
    rows = [{"variant": name, "flag": name, "ratio": 0.5, "outcome": "ok"} for name in names]
    monkeypatch.setattr(compiler_gap.GapFinder, "_ablate", lambda finder, spec: rows)
    specs = CompilerSpec("slow"), CompilerSpec("fast")
    task = Task("t", Program("p"), specs[0], specs[0], other=specs[1])
    finder = compiler_gap.GapFinder(task, print, Kept(tmp_path))
    finder._identity = "it"
    found = finder._options(np.outer([2e6, 1e6], np.ones(5)))
    assert [(option.compiler, option.flag, option.share) for option in found] == [("slow", "xla_x=1", 1.0)]


SLOW = spellings.program(
    "%zero = constant dense<0.0> : S; %t = tanh %x : T; "
    "%r = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : (T, S) -> R",
    "%x: T", "R", T="tensor<256x1024xf32>", R="tensor<256xf32>", S="tensor<f32>",
)  # fmt: skip


@pytest.mark.env
@pytest.mark.alone
def test_the_region_and_the_option_that_make_a_compiler_slow_are_named(tmp_path):
    fast = xla(name="fast")
    options = {"xla_cpu_prefer_vector_width": "128", "xla_cpu_max_isa": "SSE4_2"}
    slow = replace(fast, name="slow", options=options)
    with Worker(fast) as worker:
        program = drawn_program(worker, SLOW)
    task = Task("case", program, fast, fast, other=slow, settings=Settings(seconds=0.1))
    found = find(task, print, Kept(tmp_path))
    # The order of the two does not matter: a is the slower one.
    assert (found.verdict, found.compiler, found.other) == ("cause", "slow", "fast"), found
    (row,) = found.regions
    assert any("stablehlo.reduce" in line for line in row.a)
    assert "in the other compiler" in row.reason.sentence
    again = find(task, print, Kept(tmp_path))
    assert replace(again, seconds=0) == replace(found, seconds=0)


SORTED = """func.func @main(%x: tensor<200000xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<200000xf32>) -> tensor<200000xf32>
  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<200000xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}
"""


@pytest.mark.env
@pytest.mark.alone
def test_without_another_compiler_the_region_that_takes_the_time_is_named(tmp_path):
    compiler = xla()
    with Worker(compiler) as worker:
        program = drawn_program(worker, SORTED)
    task = Task("case", program, compiler, compiler, settings=Settings(seconds=0.1))
    found = find(task, print, Kept(tmp_path))
    assert (found.verdict, found.compiler, found.ratio, found.b_ms) == ("cause", compiler.name, None, None), (
        found
    )
    (row,) = found.regions
    assert any("stablehlo.sort" in line for line in row.a) and row.b_ms is None
    assert 0.8 <= found.closed.share <= 1.1
