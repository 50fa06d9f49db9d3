"""The reference evaluation: two evaluations of one program agree, and both agree with NumPy."""

import re

import numpy as np
import pytest

from ir.spellings import program
from stackwars.core.evaluate import evaluate, float64_text, is_interpretable, unit_roundoff
from stackwars.core.program import fixed
from stackwars.core.types import shape

WAYS = ("interpreter32", "interpreter64", "operations32", "operations64")
MIXED = """
func.func public @main(%x: tensor<4x3xf32>, %m: tensor<4xi1>, %i: tensor<4xi64>, %u: tensor<2xui32>)
    -> (tensor<4xf32>, tensor<4xi1>, tensor<i64>, tensor<2xui32>, tensor<4xf32>) {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<0xFF800000> : tensor<4xf32>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %seven = stablehlo.constant dense<7> : tensor<2xui32>
  %largest = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
    : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  %masked = stablehlo.select %m, %largest, %none : tensor<4xi1>, tensor<4xf32>
  %not = stablehlo.not %m : tensor<4xi1>
  %sum = stablehlo.reduce(%i init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
  %part = stablehlo.divide %u, %seven : tensor<2xui32>
  %start = stablehlo.constant dense<0> : tensor<i32>
  %end:2 = stablehlo.while(%k = %start, %all = %largest) : tensor<i32>, tensor<4xf32>
    cond {
      %five = stablehlo.constant dense<5> : tensor<i32>
      %more = stablehlo.compare LT, %k, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %k, %one : tensor<i32>
      %wave = stablehlo.sine %all : tensor<4xf32>
      %more = stablehlo.add %all, %wave : tensor<4xf32>
      stablehlo.return %next, %more : tensor<i32>, tensor<4xf32>
    }
  return %masked, %not, %sum, %part, %end#1
    : tensor<4xf32>, tensor<4xi1>, tensor<i64>, tensor<2xui32>, tensor<4xf32>
}
"""
X = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
MASK = np.array([True, False, True, False])
BIG = np.array([2**40, 1, -3, 2**33])
UNSIGNED = np.array([4294967295, 6], np.uint32)


def product(m: int, k: int, n: int) -> str:
    types = {"X": f"tensor<{m}x{k}xf32>", "Y": f"tensor<{k}x{n}xf32>", "R": f"tensor<{m}x{n}xf32>"}
    return program(
        "%r = dot_general %x, %y, contracting_dims = [1] x [0] : (X, Y) -> R", "%x: X, %y: Y", "R", **types
    )


PROGRAMS = {
    "mixed": f"module @m {{{MIXED}}}",
    "reduce": program(
        "%z = constant dense<0.0> : S; %r = stablehlo.reduce(%x init: %z) applies stablehlo.add "
        "across dimensions = [0, 1] : (T, S) -> S", "%x: T", "S", T="tensor<4x3xf32>", S="tensor<f32>",
    ),
    "window": program(
        '%z = constant dense<0.0> : S; %r = "stablehlo.reduce_window"(%x, %z) '
        "<{window_dimensions = array<i64: 1, 2, 3>}> "
        "({\n^bb0(%a: S, %b: S):\n%s = add %a, %b : S\nstablehlo.return %s : S\n}) : (T, S) -> R",
        "%x: T", "R", T="tensor<2x4x6xf32>", S="tensor<f32>", R="tensor<2x3x4xf32>",
    ),
    "dot": product(4, 32, 3),
    "convolution": program(
        "%r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = "
        "{stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (X, K) -> R",
        "%x: X, %k: K", "R", X="tensor<1x8x8x5xf32>", K="tensor<3x3x5x7xf32>", R="tensor<1x6x6x7xf32>",
    ),
    "normalised": program(
        '%r, %1, %2 = "stablehlo.batch_norm_training"(%x, %s, %s) '
        "<{epsilon = 1.0e-5 : f32, feature_index = 1 : i64}> : (T, S, S) -> (T, S, S)",
        "%x: T, %s: S", "T", T="tensor<2x3xf32>", S="tensor<3xf32>",
    ),
    "large": product(512, 512, 512),
}  # fmt: skip


@pytest.fixture(scope="module")
def evaluated(worker, tmp_path_factory):
    """Return (graph of each program and whether the interpreter has it, results by name)."""
    facts, results = {}, {}
    for name, text in PROGRAMS.items():
        graph = worker.graph(text)
        ones = [np.ones(shape(graph.types[value]), np.float32) for value in graph.arguments]
        arrays = [X, MASK, BIG, UNSIGNED] if name == "mixed" else ones
        facts[name] = graph, is_interpretable(graph, text)
        for double in (False, True) if facts[name][1] else ():
            bits, folder = 64 if double else 32, tmp_path_factory.mktemp("evaluated")
            found = worker.interpret(float64_text(text) if double else text, arrays)
            values = list(map(fixed, arrays))
            single = evaluate(worker, graph, values, folder, double=double, sets=1, save=graph.results)
            for number, value in enumerate(graph.results):
                results[f"{name}/interpreter{bits}/{number}"] = found[number]
                array = np.array(single.array(value)).reshape(shape(graph.types[value]))
                results[f"{name}/operations{bits}/{number}"] = array
    return facts, results


@pytest.mark.env
@pytest.mark.parametrize("way", WAYS)
def test_a_loop_a_reduction_truth_values_and_integers_evaluate_to_what_numpy_has(evaluated, way):
    x = X.astype(np.float64 if way.endswith("64") else np.float32)
    largest = x.max(1)
    wave = largest
    for _ in range(5):
        wave = wave + np.sin(wave)
    right = [np.where(MASK, largest, -np.inf), ~MASK, BIG.sum(), UNSIGNED // 7, wave]
    results = [evaluated[1][f"mixed/{way}/{n}"] for n in range(5)]
    for number, (found, value) in enumerate(zip(results, right, strict=True)):
        value = np.asarray(value)
        assert (found.dtype.kind, found.shape) == (value.dtype.kind, value.shape), number
        if number < 4:
            np.testing.assert_array_equal(found, value)
    rounding = 1e-15 if way.endswith("64") else 1e-6
    np.testing.assert_allclose(results[4], wave, rtol=8 * rounding)


@pytest.mark.env
@pytest.mark.parametrize(
    ("name", "terms", "elements"),
    [("dot", 32, 12), ("convolution", 45, 252), ("reduce", 12, 1), ("window", 6, 24), ("mixed", 4, None)],
)
def test_accumulation_is_the_length_of_the_longest_sum(evaluated, name, terms, elements):
    facts, results = evaluated
    graph, _ = facts[name]
    assert graph.accumulation == terms
    if elements:
        assert sum(op.work for op in graph.ops) >= terms * elements
        for way in WAYS:
            found = results[f"{name}/{way}/0"]
            assert found.size == elements and (found == terms).all()


@pytest.mark.env
def test_programs_that_the_interpreter_aborts_at_or_takes_long_for_are_not_given_to_it(evaluated):
    wanted = {"normalised": False, "large": False, "dot": True, "mixed": True}
    assert {name: evaluated[0][name][1] for name in wanted} == wanted


@pytest.mark.parametrize(("name", "bits"), [("f32", "FF800000"), ("f16", "FC00"), ("bf16", "FF80")])
def test_hexadecimal_constants_are_widened(name, bits):
    assert float64_text(f"dense<0x{bits}> : tensor<3x{name}>") == "dense<0xFFF0000000000000> : tensor<3xf64>"
    mixed = float64_text(f"dense<[1.0, 0x{bits}]> : tensor<2x{name}>")
    assert mixed == "dense<[1.0, 0xFFF0000000000000]> : tensor<2xf64>"
    one = {"f32": "0000803F", "f16": "003C", "bf16": "803F"}[name]
    wide = 'dense<"0x000000000000F03F"> : tensor<1xf64>'
    assert float64_text(f'dense<"0x{one}"> : tensor<1x{name}>') == wide


def test_floats_become_float64_without_the_layout_of_float32_and_nothing_else():
    text = "%0 = f(%a, %b, %c, %d) : (tensor<2x3xf32>, tensor<f16>, tensor<4xi32>, tensor<2xcomplex<f32>>)"
    wide = "%0 = f(%a, %b, %c, %d) : (tensor<2x3xf64>, tensor<f64>, tensor<4xi32>, tensor<2xcomplex<f64>>)"
    assert float64_text(text) == wide
    layout = float64_text('%0 = f() {xla_shape = "f32[2]{0}", x = 1} : tensor<2xi32>')
    assert "xla_shape" not in layout and "x = 1" in layout
    integers = 'dense<"0x01000000"> : tensor<1xi32>'
    assert float64_text(integers) == integers


def test_unit_roundoff_is_that_of_the_least_precise_type():
    assert unit_roundoff("tensor<2xf32> tensor<3xbf16> tensor<f64>") == 2.0**-8
    assert unit_roundoff(MIXED) == 2.0**-24
    assert unit_roundoff(re.sub(r"f32", "i32", MIXED)) == 0
