"""What a region does: operations, bytes, and the sentence about both sides."""

import numpy as np
import pytest

from explain.pairs import program
from stackwars.explain.hybrids import Hybrids
from stackwars.explain.reasons import bytes_moved, flops, noun, reason, sentence
from stackwars.explain.workers import Times

DOT = (
    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
    "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>"
)
CONVOLUTION = "dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>"


@pytest.fixture
def graph():
    found, _ = program(
        {"x": "5x2x3xf32", "w": "5x3x7xf32", "i": "1x8x9x9xf32", "k": "6x4x3x3xf32"},
        [
            ("y", "dot_general", ["x", "w"], "5x2x7xf32", DOT),
            ("c", "convolution", ["i", "k"], "1x6x7x7xf32", CONVOLUTION),
            ("z", "abs", ["y"], "5x2x7xf32"),
        ],
        ["z", "c"],
    )
    return found


def test_products_and_convolutions_have_floating_point_operations(graph):
    dot, convolution, other = graph.ops
    assert flops(graph, dot) == 2 * 5 * 2 * 7 * 3
    assert flops(graph, convolution) == 2 * 6 * 7 * 7 * 4 * 3 * 3
    assert flops(graph, other) == 0


def test_a_reason_has_cores_and_rates(graph):
    part = Hybrids((graph, graph), []).hybrid([])
    times = Times(np.full(10, 1e6), np.full(10, 1.5e6))
    found = reason((graph, graph), part, times)
    assert found["cores"] == 1.5
    assert found["gflops"] == pytest.approx((420 + 21168) / 1e6, rel=1e-2)
    assert found["gbytes_s"] == pytest.approx(bytes_moved((graph, graph), part) / 1e6, rel=1e-2)
    short = Times(np.full(10, 1e3), np.full(10, 1.5e3))
    assert reason((graph, graph), part, short)["cores"] is None


def test_a_region_is_called_by_its_heaviest_operation(graph):
    assert noun(graph.ops) == "product"
    assert noun(graph.ops[1:]) == "convolution"
    assert noun(graph.ops[2:]) == "elementwise region"
    moves, _ = program({"x": "2x3xf32"}, [("y", "reshape", ["x"], "6xf32")], ["y"])
    assert noun(moves.ops) == "change of layout"


def test_the_sentence_compares_the_two_sides(graph):
    a = {"ms": 4.2, "cores": 1.3, "gflops": 32.0, "of_peak": 0.18, "gbytes_s": 1.0}
    b = {"ms": 1.2, "cores": 1.8, "gflops": 110.0, "of_peak": 0.6, "gbytes_s": 3.0}
    text = sentence("argument layout", graph.ops, a, b)
    assert text.startswith("this product with its argument in this layout takes 4.2 ms on 1.3 of ")
    assert "at 32 GFLOP/s (18% of the peak); with the argument in the other layout it takes 1.2 ms" in text
    assert sentence("operations", graph.ops, a, {}).endswith("in the other program it does nothing")


def test_bfloat16_has_two_bytes():
    found, _ = program({"x": "3xbf16"}, [("y", "convert", ["x"], "3xf32")], ["y"])
    assert bytes_moved((found, found), Hybrids((found, found), []).hybrid([])) == 3 * 2 + 3 * 4
