"""What a region does: operations, bytes, and the sentence about both sides."""

import os
from dataclasses import replace

import numpy as np
import pytest

from explain.pairs import program
from stackwars.core.client import Times
from stackwars.explain.answer import LAYOUT, OPERATIONS, Rate
from stackwars.explain.bench import CallTime
from stackwars.explain.hybrids import Hybrids
from stackwars.explain.regions import bytes_moved, flops, noun, rate, sentence, shorten

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
    # The facts that the worker's bindings compute.
    work = {"stablehlo.dot_general": 5 * 2 * 7 * 3, "stablehlo.convolution": 6 * 7 * 7 * 4 * 3 * 3}
    found.ops = [replace(op, work=work.get(op.name, 1)) for op in found.ops]
    return found


def test_products_and_convolutions_have_floating_point_operations(graph):
    dot, convolution, other = graph.ops
    assert flops(dot) == 2 * 5 * 2 * 7 * 3
    assert flops(convolution) == 2 * 6 * 7 * 7 * 4 * 3 * 3
    assert flops(other) == 0


def test_a_region_has_cores_and_rates(graph):
    part = Hybrids((graph, graph), []).hybrid([])
    found = rate((graph, graph), part, CallTime.of(Times(np.full(10, 1e6), np.full(10, 1.5e6))))
    assert found.cores == min(1.5, len(os.sched_getaffinity(0)))
    assert found.gflops == pytest.approx((420 + 21168) / 1e6, rel=1e-2)
    assert found.gbytes_s == pytest.approx(bytes_moved((graph, graph), part) / 1e6, rel=1e-2)
    assert rate((graph, graph), part, CallTime(1e3, 1.5e3, 1.5e3)).cores is None


def test_a_region_is_called_by_its_heaviest_operation(graph):
    assert noun(graph.ops) == "product"
    assert noun(graph.ops[1:]) == "convolution"
    assert noun(graph.ops[2:]) == "elementwise region"
    moves, _ = program({"x": "2x3xf32"}, [("y", "reshape", ["x"], "6xf32")], ["y"])
    assert noun(moves.ops) == "change of layout"


def test_the_sentence_compares_the_two_sides(graph):
    a, b = Rate(4.2, 1.3, 32.0, 1.0, 0.18), Rate(1.2, 1.8, 110.0, 3.0, 0.6)
    text = sentence(LAYOUT, graph.ops, a, b)
    assert text.startswith("this product with its argument in this layout takes 4.2 ms on 1.3 of ")
    assert "at 32 GFLOP/s (18 % of the peak); with the argument in the other layout it takes 1.2 ms" in text
    assert sentence(OPERATIONS, graph.ops, a, None).endswith("in the other program it does nothing")


def test_an_operation_is_shown_on_one_line_without_noise_and_bfloat16_has_two_bytes():
    text = 'dense<"0x' + "AB" * 64 + '"> : tensor<16xf32>, xla_shape = "f32[16]{0}"'
    found, _ = program({"x": "16xf32"}, [("y", "custom_call", ["x"], "16xf32", f"value = {text}")], ["y"])
    shown = shorten(found.ops[0])
    assert "xla_shape" not in shown and f'dense<"0x{"AB" * 16}..."' in shown

    found, _ = program({"x": "3xbf16"}, [("y", "convert", ["x"], "3xf32")], ["y"])
    assert bytes_moved((found, found), Hybrids((found, found), []).hybrid([])) == 3 * 2 + 3 * 4
