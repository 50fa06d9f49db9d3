"""What an answer may say: shares, ratios and words that the measurements justify."""

import pytest

from explain.pairs import DOT, one_class, program
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.launch import REPOSITORY
from stackwars.explain.answer import Rate
from stackwars.explain.hybrids import Hybrids
from stackwars.explain.regions import differs, shorten, special, texts, with_peak
from stackwars.setup.environments import ensure

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
    [
        (
            "feature_group_count = 64 : i64",
            "feature_group_count = 1 : i64",
            "grouped convolution (64 groups) against no groups",
        ),
        (
            "batch_group_count = 2 : i64",
            "",
            "grouped convolution (2 groups of the batch) against no groups of the batch",
        ),
        (
            "lhs_dilation = array<i64: 8, 16>",
            "",
            "dilated convolution (127 of 128 products are with zeros) against no dilation",
        ),
        (
            "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]",
            "",
            "precision HIGHEST against DEFAULT",
        ),
        (
            "window_strides = array<i64: 2>",
            "window_strides = array<i64: 1>",
            "window_strides array<i64: 2> against array<i64: 1>",
        ),
        ("", "", ""),
    ],
)
def test_attributes_of_a_convolution_that_differ_are_named(a, b, words):
    lines = [
        [("y", "convolution", ["x", "w"], "1x6x7xf32", ", ".join(filter(None, (CONVOLUTION, more))))]
        for more in (a, b)
    ]
    hybrids, parts = compared({"x": "1x4x9xf32", "w": "6x4x3xf32"}, *lines)
    assert differs(hybrids, parts) == words
    alone = words.partition(" against")[0]
    assert special(parts[0].ops[0][1]) == ("" if alone.startswith(("precision", "window")) else alone)


def test_a_rate_beyond_the_measured_peak_is_not_shown():
    rate = Rate(1.0, 1.9, 2140.0, 3.0)
    assert with_peak(rate, 450.0).gflops is None and with_peak(rate, 450.0).of_peak is None
    assert with_peak(Rate(1.0, 1.9, 460.0, 3.0), 450.0).of_peak == 1.0
    assert with_peak(rate, 0.0) == rate


@pytest.fixture(scope="module")
def worker():
    with Worker(CompilerSpec("it", python=str(ensure(REPOSITORY / "envs" / "xla-0.7.1.txt")))) as started:
        yield started


@pytest.mark.env
def test_products_with_the_zeros_of_dilation_and_padding_are_not_counted(worker):
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
def test_the_comparator_of_a_sort_is_counted_and_shown(worker):
    (op,) = worker.graph(SORT).ops
    assert special(op) == "comparator of two operations"
    assert "({abs, compare})" in shorten(op)
