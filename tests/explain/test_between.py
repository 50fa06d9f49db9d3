"""Dividing a program into regions that are timed alone."""

import numpy as np
import pytest

from explain.pairs import DOT, TRANSPOSE, program
from stackwars.explain import between
from stackwars.explain.graph import Graph
from stackwars.explain.question import Question, Side
from stackwars.explain.workers import CompilerSpec
from stackwars.setup.environments import REPOSITORY

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


def test_a_region_begins_at_a_product_and_takes_what_follows(layers):
    first, second = between.regions(layers)
    assert [op.name for op in first.ops] == [
        f"stablehlo.{name}" for name in ("transpose", "dot_general", "tanh")
    ]
    assert [op.name for op in second.ops][-1] == "stablehlo.add"
    # The transposed weight depends on an argument alone: both have it.
    assert "stablehlo.transpose" in [op.name for op in second.ops]


def test_regions_read_earlier_ones_alone(layers):
    made: set[int] = set(layers.arguments)
    for region in between.regions(layers):
        assert set(region.reads) <= made
        made |= set(region.results)
    assert set(layers.results) <= made


def test_equal_layers_are_one_kind():
    lines = []
    for number in range(3):
        lines.append((f"p{number}", "dot_general", [f"y{number - 1}" if number else "x", "w"], F, DOT))
        lines.append((f"y{number}", "tanh", [f"p{number}"], F))
    graph, _ = program({"x": F, "w": F}, lines, ["y2"])
    assert [len(kind) for kind in between.kinds(graph)] == [3]


def test_a_program_without_such_operations_is_one_region():
    graph, _ = program({"x": F, "w": F}, [("y", "tanh", ["x"], F), ("z", "add", ["y", "w"], F)], ["z"])
    (region,) = between.regions(graph)
    assert [op.name for op in region.ops] == ["stablehlo.tanh", "stablehlo.add"]
    assert region.results == graph.results and set(region.reads) == set(graph.arguments)


def test_regions_written_alone_compute_the_program(layers):
    for region in between.regions(layers):
        again = Graph.read(region.text(layers))
        assert [op.name for op in again.ops] == [op.name for op in region.ops]
        assert len(again.arguments) == len(region.reads)
        assert len(again.results) == len(region.results)


def timed(count, first, second, refused=False):
    return between.Timed(
        [None] * count, np.array([[first] * between.TURNS, [second] * between.TURNS]), refused=refused
    )


def test_difference_counts_every_region_of_the_kind():
    assert timed(3, 5.0, 2.0).difference().tolist() == [9.0] * between.TURNS


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        ((0.93, -0.11, 1.97), "not separable"),
        ((0.93, 0.8, 1.06), "cause"),
        ((0.5, 0.4, 0.6), "spread"),
    ],
)
def test_a_share_whose_interval_holds_nothing_is_no_cause(share, verdict):
    assert between._account([timed(1, 5.0, 2.0)], share) == verdict
    assert between._account([], (0.0, 0.0, 0.0)) == "spread"


def test_kinds_that_were_not_timed_are_counted():
    rows = [timed(1, 0.0, 0.0, refused=True), timed(1, 5.0, 2.0)]
    assert between._refused(rows) == "; 1 of 2 kinds could not be timed alone"
    assert between._refused(rows[1:]) == ""


SLOW = """func.func @main(%x: tensor<256x1024xf32>) -> tensor<256xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %x : tensor<256x1024xf32>
  %s = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<256x1024xf32>, tensor<f32>) -> tensor<256xf32>
  return %s : tensor<256xf32>
}
"""


@pytest.mark.env
@pytest.mark.alone
def test_the_region_and_the_option_that_make_a_compiler_slow_are_named(tmp_path):
    (tmp_path / "slow.mlir").write_text(SLOW)
    pins = str(REPOSITORY / "envs/xla-0.7.1.txt")
    fast = CompilerSpec("fast", pins=pins)
    options = {"xla_cpu_prefer_vector_width": "128", "xla_cpu_max_isa": "SSE4_2"}
    slow = CompilerSpec("slow", options=options, pins=pins)
    side = Side("program", str(tmp_path / "slow.mlir"))
    found = between.find(
        Question("case", side, fast, fast, other=slow, settings={"seconds": 0.1, "bound": 0.1})
    )
    # The order of the two does not matter: a is the slower one.
    assert (found["verdict"], found["compiler"], found["other"]) == ("cause", "slow", "fast"), found
    (row,) = found["regions"]
    assert any("stablehlo.reduce" in line for line in row["a"])
    assert "in the other compiler" in row["reason"]["sentence"]
