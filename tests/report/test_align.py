"""Which line of one program stands for which of another, and the class of its operation."""

import pytest

from stackwars.publish.report import align
from stackwars.publish.report.align import repeats

LEFT = """func.func @main(%a: tensor<2x3xf32>) -> (tensor<2xf32> {jax.result_info = "x"}) {
%0 = stablehlo.tanh %a : tensor<2x3xf32>
%1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
%2 = stablehlo.add %1, %1 : tensor<3x2xf32>
return %2
}"""
RIGHT = """func.func @main(%x: tensor<2x3xf32>) -> (tensor<2xf32> {jax.result_info = "x"}) {
%c = "stablehlo.constant"() : () -> tensor<f32>
%5 = stablehlo.tanh %x : tensor<2x3xf32>
%6 = stablehlo.add %5, %5 : tensor<3x2xf32>
return %6
}"""


def test_lines_match_by_what_they_compute():
    made = align.form({"a": align.side(LEFT), "b": align.side(RIGHT)})
    assert made["pairs"]["a b"]["blocks"] == [[1, 2, 1], [3, 3, 1]]
    assert made["sides"]["a"]["texts"] == LEFT.splitlines()
    assert "keys" not in made["sides"]["a"]


def test_a_side_counts_its_operations_by_name_and_knows_noise():
    made = align.side(RIGHT)
    assert made["noise"] == "010000"
    assert made["kinds"] == {"constant": 1, "tanh": 1, "add": 1}
    assert made["layers"] == []


def test_every_two_programs_are_matched():
    sides = {name: align.side(text) for name, text in {"a": LEFT, "b": RIGHT, "c": LEFT}.items()}
    pairs = align.form(sides)["pairs"]
    assert {name: one["share"] for name, one in pairs.items()} == {"a b": 4 / 6, "a c": 1, "b c": 4 / 6}


def test_share_is_of_the_operations_of_both():
    keys = [align.operations(text) for text in (LEFT, RIGHT)]
    assert align.matched(*keys)["share"] == 4 / 6
    assert align.side(LEFT)["operations"] == align.side(RIGHT)["operations"] == "011100"
    assert align.matched([], [None])["share"] is None


def test_what_is_no_operation_may_stand_opposite_its_like_and_counts_for_nothing():
    found = align.matched(["#head", "add", None], ["#head", "mul", None])
    assert (found["blocks"], found["share"]) == ([[0, 0, 1]], 0)
    assert align.flags(["#head", "add", None]) == "010"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]", "products"),
        ('%0 = "stablehlo.convolution"(%a, %b) {}', "products"),
        ("%0 = stablehlo.transpose %a, dims = [1, 0]", "transposes"),
        ("%0 = stablehlo.broadcast_in_dim %a, dims = [0]", "transposes"),
        ("%0 = stablehlo.dynamic_slice %a, %i, sizes = [1]", "transposes"),
        ("%0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1]", "reductions"),
        ('%o, %m, %v = "stablehlo.batch_norm_training"(%a, %s, %b) <{}>', "reductions"),
        ("%0 = stablehlo.add %a, %b : tensor<2xf32>", "elementwise"),
        ("%0 = chlo.erf %a : tensor<2xf32>", "elementwise"),
        ("%0 = stablehlo.custom_call @mhlo.erf(%a) {}", "elementwise"),
        ("%0 = stablehlo.custom_call @topk_thing(%a) {}", "library"),
        ("%0 = stablehlo.custom_call @__onednn_matmul(%a) {}", "products"),
        ("%cst = stablehlo.constant dense<0.0> : tensor<f32>", None),
        ("%0 = call @relu(%a) : (tensor<2xf32>) -> tensor<2xf32>", None),
        ("return %0 : tensor<2xf32>", None),
    ],
)
def test_class_of_a_line(line, kind):
    assert align.line_classes(line) == [kind]


LAYER = ["dot", "add", "tanh", None, "dot", "multiply", "reduce"]


def test_layers_are_found_between_what_stands_once():
    keys = ["gather", "add", *LAYER * 12, "dot"]
    assert repeats(keys) == [[2, len(LAYER), 12]]


def test_the_shortest_layer_is_the_layer():
    assert repeats([*"abcdefgh" * 4]) == [[0, 8, 4]]


def test_stages_of_several_layers_stand_apart():
    one, other = [f"a{number}" for number in range(8)], [f"b{number}" for number in range(6)]
    assert repeats([*one * 3, "between", *other * 4]) == [[0, 8, 3], [25, 6, 4]]


def test_what_is_short_or_stands_once_is_no_layer():
    assert repeats(["add", "add"] * 20) == []
    assert repeats([str(number) for number in range(50)]) == []
    assert repeats([]) == []
