"""Dividing a program into regions that are timed alone."""

import numpy as np
import pytest

from stackwars.explain import between
from stackwars.explain.graph import Graph

F = "tensor<4x4xf32>"
DOT = "<{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}>"


def program(*lines, result="%9"):
    body = "\n".join(f"    {line}" for line in lines)
    return Graph.read(
        f""""builtin.module"() ({{
  "func.func"() <{{function_type = ({F}, {F}) -> {F}, sym_name = "main"}}> ({{
  ^bb0(%arg0: {F}, %arg1: {F}):
{body}
    "func.return"({result}) : ({F}) -> ()
  }}) : () -> ()
}}) : () -> ()
"""
    )


def unary(name, to, of):
    return f'{to} = "stablehlo.{name}"({of}) : ({F}) -> {F}'


def binary(name, to, a, b, more=""):
    return f'{to} = "stablehlo.{name}"({a}, {b}) {more} : ({F}, {F}) -> {F}'


@pytest.fixture
def layers():
    """Two equal layers, product and tanh, with a transposed weight; then a sum with the first layer's output."""
    return program(
        f'%0 = "stablehlo.transpose"(%arg1) <{{permutation = array<i64: 1, 0>}}> : ({F}) -> {F}',
        binary("dot_general", "%1", "%arg0", "%0", DOT),
        unary("tanh", "%2", "%1"),
        binary("dot_general", "%3", "%2", "%0", DOT),
        unary("tanh", "%4", "%3"),
        binary("add", "%9", "%4", "%2"),
    )


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
        source = f"%{2 * number - 1}" if number else "%arg0"
        lines.append(binary("dot_general", f"%{2 * number}", source, "%arg1", DOT))
        lines.append(unary("tanh", f"%{2 * number + 1}", f"%{2 * number}"))
    graph = program(*lines, result="%5")
    assert [len(kind) for kind in between.kinds(graph)] == [3]


def test_regions_written_alone_compute_the_program(layers):
    for region in between.regions(layers):
        again = Graph.read(region.text(layers))
        assert [op.name for op in again.ops] == [op.name for op in region.ops]
        assert len(again.arguments) == len(region.reads)
        assert len(again.results) == len(region.results)


def timed(count, first, second, refused=""):
    return between.Timed(
        [None] * count, np.array([[first] * between.TURNS, [second] * between.TURNS]), refused=refused
    )


def test_difference_counts_every_region_of_the_kind():
    assert timed(3, 5.0, 2.0).difference().tolist() == [9.0] * between.TURNS
