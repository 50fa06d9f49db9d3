"""What an answer may say: shares, ratios and words that the measurements justify."""

import os
from dataclasses import replace

import numpy as np
import pytest

from explain.pairs import DOT, one_class, program, xla
from explain.planted_pairs import Pair, inside_pairs
from explain_fixture import TABLE, right
from ir import spellings
from stackwars.core.client import CompilerSpec, Times, Worker
from stackwars.core.judge import expected_values, judge
from stackwars.core.program import Program, fixed
from stackwars.explain import compiler_gap, console, table
from stackwars.explain.answer import LAYOUT, OPERATIONS, Interval, Rate, Share
from stackwars.explain.bench import CallTime, moved_gap
from stackwars.explain.hybrids import Hybrids
from stackwars.explain.matching import without_coincidences
from stackwars.explain.page import exit_status
from stackwars.explain.regions import (
    Peak,
    bytes_moved,
    differs,
    flops,
    noun,
    rate,
    sentence,
    shorten,
    special,
    texts,
    with_peak,
)
from stackwars.explain.task import Kept, Settings, Task

# What a region does

BATCHED = (
    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
    "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>"
)
PLANE = "dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>"


@pytest.fixture
def graph():
    found, _ = program(
        {"x": "5x2x3xf32", "w": "5x3x7xf32", "i": "1x8x9x9xf32", "k": "6x4x3x3xf32"},
        [
            ("y", "dot_general", ["x", "w"], "5x2x7xf32", BATCHED),
            ("c", "convolution", ["i", "k"], "1x6x7x7xf32", PLANE),
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


# What differs inside an operation


def compared(arguments, lines_a, lines_b):
    """Return the hybrids of two programs with the same arguments, and the regions of their results."""
    graphs, values = zip(
        *(program(arguments, lines, [lines[-1][0]]) for lines in (lines_a, lines_b)), strict=True
    )
    names = [*arguments, lines_a[-1][0]]
    hybrids = Hybrids(graphs, [one_class(*([found[name]] for found in values)) for name in names])
    return hybrids, [hybrids.region(len(arguments), side) for side in (0, 1)]


def test_exchanged_operands_are_named_and_one_number_is_one_tensor_of_both_sides():
    other = DOT.replace(
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]",
        "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]",
    )
    hybrids, parts = compared(
        {"x": "4x4xf32", "w": "4x4xf32"},
        [("p", "dot_general", ["x", "w"], "4x4xf32", DOT)],
        [("t", "reshape", ["w"], "4x4xf32"), ("p", "dot_general", ["t", "x"], "4x4xf32", other)],
    )
    assert differs(hybrids, parts) == "operands exchanged"
    (first,), second = (
        texts(part, {(s, v): f"%{v}" for s, v in part.arguments}) for s, part in enumerate(parts)
    )
    assert first.startswith('%2 = "stablehlo.dot_general"(%0, %1)')
    assert console.operations([first]) == "dot_general"
    assert console.operations(['%0 = "stablehlo.constant"()', first]) == "dot_general"
    assert second[1].startswith('%3 = "stablehlo.dot_general"(%2, %0)')


CONVOLUTION = "dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>"
SORT = """module {
  func.func @main(%s: tensor<8xf32>) -> tensor<8xf32> {
    %q = "stablehlo.sort"(%s) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.abs %a : tensor<f32>
      %d = stablehlo.compare LT, %c, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %d : tensor<i1>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %q : tensor<8xf32>
  }
}
"""


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [("precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]", "",
      "precision HIGHEST against DEFAULT"),
     ("window_strides = array<i64: 2>", "window_strides = array<i64: 1>", "window_strides [2] against default"),
     ("", "", "")],
)  # fmt: skip
def test_attributes_of_a_convolution_that_differ_are_named(a, b, words):
    lines = [
        [("y", "convolution", ["x", "w"], "1x6x7xf32", ", ".join(filter(None, (CONVOLUTION, more))))]
        for more in (a, b)
    ]
    hybrids, parts = compared({"x": "1x4x9xf32", "w": "6x4x3xf32"}, *lines)
    assert differs(hybrids, parts) == words
    assert special(parts[0].ops[0][1]) == ""


def test_a_rate_beyond_the_measured_peak_is_not_shown_and_the_peak_is_measured_again():
    fast = Rate(1.0, 1.9, 2140.0, 3.0)
    assert with_peak(fast, 450.0).gflops is None and with_peak(fast, 450.0).of_peak is None
    assert with_peak(Rate(1.0, 1.9, 460.0, 3.0), 450.0).of_peak == 1.0
    assert with_peak(fast, 0.0) == fast
    found = iter([45.0, 90.0])
    peak = Peak(Kept(), "it", lambda: next(found))
    rates = [Rate(1.0, 1.0, 27.0, 1.0), None]
    assert [one and one.of_peak for one in peak.applied(rates)] == [0.6, None]
    assert peak.applied([Rate(1.0, 1.0, 72.0, 1.0)])[0].of_peak == 0.8
    assert peak.applied(rates)[0].of_peak == 0.3


TOTAL = SORT.replace("%c = stablehlo.abs %a : tensor<f32>\n", "").replace("LT, %c", "LT, %a")
ORDER = Pair(
    "order of a comparator", TOTAL, TOTAL.replace("TOTALORDER", "FLOAT"),
    inside="inner compare: compare_type TOTALORDER against FLOAT",
)  # fmt: skip
"""A total order of numbers is four times slower than one of floats."""


@pytest.fixture(scope="module")
def worker():
    with Worker(xla()) as started:
        yield started


@pytest.mark.env
def test_products_with_zeros_are_not_counted_and_the_comparator_of_a_sort_is(worker):
    text = """func.func @main(%x: tensor<2x8x64xf32>, %w: tensor<4x16x64xf32>) -> tensor<2x70x64xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[1, 1]], lhs_dilate = [10]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64}
    : (tensor<2x8x64xf32>, tensor<4x16x64xf32>) -> tensor<2x70x64xf32>
  return %y : tensor<2x70x64xf32>
}"""
    (op,) = worker.graph(text).ops
    places = [(out, tap) for out in range(70) for tap in range(4) if out + tap - 1 in range(0, 80, 10)]
    assert op.work == len(places) * 2 * 64 * 16
    assert op.terms == 16
    assert (
        special(op) == "grouped convolution (4 groups); dilated convolution (9 of 10 products are with zeros)"
    )


@pytest.mark.env
@pytest.mark.parametrize("pair", [*inside_pairs(), ORDER], ids=lambda pair: pair.name)
def test_what_differs_inside_an_operation_is_named(worker, pair):
    graphs = [worker.graph(text) for text in (pair.slow, pair.fast)]
    nodes = zip(*([*graph.arguments, *graph.results] for graph in graphs), strict=True)
    hybrids = Hybrids(graphs, [one_class([a], [b]) for a, b in nodes])
    parts = [hybrids.region(len(graphs[0].arguments), side) for side in (0, 1)]
    assert pair.inside in differs(hybrids, parts)


@pytest.mark.env
def test_the_comparator_of_a_sort_is_counted_and_shown(worker):
    (op,) = worker.graph(SORT).ops
    assert special(op) == "comparator of two operations (abs, compare)"
    assert "({abs, compare})" in shorten(op)


# What rounding decides

SUM = "applies stablehlo.add across dimensions = [1] : (T, F) -> S"
VARIANCE = spellings.program(
    f"%z = constant dense<0.0> : F; %n = constant dense<3.0> : S; %s = stablehlo.reduce(%x init: %z) {SUM}; "
    "%m = divide %s, %n : S; %b = broadcast_in_dim %m, dims = [0] : (S) -> T; %d = subtract %x, %b : T; "
    f"%q = multiply %d, %d : T; %r = stablehlo.reduce(%q init: %z) {SUM}",
    "%x: T", "S", T="tensor<1x3xf32>", S="tensor<1xf32>", F="tensor<f32>",
)  # fmt: skip
FLOOR = spellings.of_x("%a = atan2 %x, %x : T; %t = tan %a : T; %r = floor %t : T")
EXACT = spellings.of_x("%a = add %x, %x : T; %t = multiply %a, %x : T; %r = floor %t : T")


@pytest.mark.env
@pytest.mark.parametrize(
    ("text", "x", "is_open"),
    [
        (VARIANCE, np.full((1, 3), 7.5e10), True),
        (VARIANCE, np.asarray([[1.0, 2.0, 4.0]]), False),
        (FLOOR, np.ones(4), True),
        (EXACT, np.ones(4), False),
    ],
)
def test_results_that_rounding_decides_accuse_nobody(worker, text, x, is_open):
    """tensorflow/tensorflow 120234: a variance of equal numbers; 120622: floor(tan(atan(1)))."""
    found = expected_values(worker, worker.graph(text), [fixed(x.astype(np.float32))], text=text)
    other = {"0/output0": np.full(1 if text is VARIANCE else 4, 6.7e7, np.float32)}
    assert (judge(other, found) is None) == is_open


# Shares of a gap


def gap_between(tmp_path, text, times, alone):
    """Return the cause of a gap between two compilers, of a program that takes these ns in them.

    alone: ns of the regions in both, in order.
    """
    graph, _ = text
    program = Program("p", "", (), file="p.mlir")
    spec = CompilerSpec("slow"), CompilerSpec("fast")
    found = compiler_gap.GapFinder(Task("t", program, spec[0], spec[0], other=spec[1]), print, Kept(tmp_path))
    rows = [
        compiler_gap.TimedKind(kind, np.outer(ns, np.ones(compiler_gap.TURNS)))
        for kind, ns in zip(compiler_gap.kinds(graph), alone, strict=True)
    ]
    return found._cause(rows, np.outer(times, [0.99, 1.0, 1.01, 1.0, 1.0]), None, [])


PRODUCT = program({"x": "4x4xf32", "w": "4x4xf32"}, [("p", "dot_general", ["x", "w"], "4x4xf32", DOT)], ["p"])
TWO = program(
    {"x": "4x4xf32", "w": "4x4xf32"},
    [("p", "dot_general", ["x", "w"], "4x4xf32", DOT), ("q", "sort", ["p"], "4x4xf32")],
    ["q"],
)


def test_a_region_that_is_the_whole_program_is_the_cause_whatever_its_time_alone(tmp_path):
    """jax-ml/jax 36799: "spread", the one loop being 75 % of itself."""
    found = gap_between(tmp_path, PRODUCT, [130e6, 1e6], [[96e6, 1e6]])
    assert (found.verdict, found.closed, len(found.regions)) == ("cause", Share(1.0), 1)
    found = gap_between(tmp_path, PRODUCT, [3e6, 1e6], [[9e6, 1e6]])
    assert (found.verdict, found.closed.share, found.regions[0].share) == ("cause", 1.0, 1.0)


def test_regions_as_short_as_a_call_make_up_nothing(tmp_path):
    """iree 24886: 830 % of a gap."""
    found = gap_between(tmp_path, PRODUCT, [40e3, 20e3], [[37e3, 5e3]])
    assert (found.verdict, found.regions) == ("not separable", [])
    assert found.detail.startswith("not separable: slow takes 2 times as long as fast")
    assert found.detail.endswith("; the program takes less than 0.05 ms here, the cost of a call")
    # On a busy machine a region alone may take longer than the program.
    found = gap_between(tmp_path, PRODUCT, [40e3, 20e3], [[680e3, 5e3]])
    assert (found.verdict, found.regions) == ("not separable", [])
    found = gap_between(tmp_path, TWO, [2e6, 1e6], [[2e6, 1e6], [37e3, 5e3]])
    assert found.verdict == "cause" and found.closed.share == pytest.approx(1.0)
    assert found.detail.endswith("1 of 2 kinds take less than 0.05 ms alone, the cost of a call")


def test_regions_that_make_up_more_than_the_gap_are_no_cause(tmp_path):
    found = gap_between(tmp_path, TWO, [2e6, 1e6], [[4e6, 1e6], [5e5, 5e5]])
    assert (found.verdict, found.regions, found.closed) == ("not separable", [], None)
    assert "longer alone than in the program" in found.detail and "300 %" not in found.detail


def test_values_that_a_program_computes_from_an_equal_one_are_not_matched():
    """pytorch/xla 8720: an index that is made positive is the index on inputs without negative ones."""
    lines = [
        ("n", "abs", ["i"], "4xi32"),
        ("t", "reshape", ["n"], "4x1xi32"),
        ("y", "gather", ["x", "t"], "4xf32"),
    ]
    graph, a = program({"x": "9xf32", "i": "4xi32"}, lines, ["y"])
    other, b = program(
        {"x": "9xf32", "i": "4xi32"},
        [("t", "reshape", ["i"], "4x1xi32"), ("y", "gather", ["x", "t"], "4xf32")],
        ["y"],
    )
    classes = [
        one_class([a["x"]], [b["x"]]),
        one_class([a["i"], a["n"], a["t"]], [b["i"], b["t"]]),
        one_class([a["y"]], [b["y"]]),
    ]
    found = without_coincidences(classes, (graph, other))
    assert [tuple(map(list, one.maps)) for one in found][1] == ([a["i"]], [b["i"], b["t"]])
    # The region computes from the argument what it computes in the program.
    part = Hybrids((graph, other), found).region(2, 0)
    assert [op.name.rpartition(".")[2] for _, op in part.ops] == ["abs", "reshape", "gather"]
    assert without_coincidences(found, (graph, other)) == []


# A gap has one ratio


def test_both_ratios_of_a_gap_are_shown_if_fresh_processes_moved_it():
    text = moved_gap(1.36, Interval(1.08, 1.05, 1.11))
    assert text.startswith("1.36 in the table, 1.08 in fresh processes (1.05 to 1.11)")
    assert moved_gap(1.1, Interval(1.08, 1.05, 1.11)) == ""
    assert moved_gap(None, Interval(1.08, 1.05, 1.11)) == moved_gap(1.36, None) == ""


def test_times_that_differ_by_the_cost_of_a_call_are_no_gap():
    """pytorch/pytorch 191499: 0.076 ms in one compiler and 0.030 in another, 18 bytes being read."""

    def found(slow, fast):
        cells = [table.cell("p", name, right(ms)) for name, ms in (("jaxlib-1", slow), ("iree-1", fast))]
        asked = table.questions(cells, [], Settings(bound=0.1))
        return len(asked), exit_status(
            replace(TABLE, cells=cells, programs=["p"], differ=""), [], is_pair=False
        )

    assert found(0.076, 0.030) == (0, 0)
    assert found(0.095, 0.030) == (1, 2)
    assert found(1.076, 1.030) == (0, 0)
