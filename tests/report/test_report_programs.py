"""Which line of one program stands for which of another, and the class of its operation."""

import pytest

from hlo_pair import OTHER, SMALL
from snapshots import assert_snapshot
from stablehlo.hlo_texts import LOOP
from stackwars.publish.report import programs
from stackwars.publish.report.programs import repeats

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


def test_two_programs_side_by_side():
    """Lines match by what they compute; a side counts its operations by name, and knows noise."""
    sides = {name: programs.side(text) for name, text in {"a": LEFT, "b": RIGHT, "c": LEFT}.items()}
    made = programs.form(sides)
    assert {name: one["share"] for name, one in made["pairs"].items()} == {"a b": 4 / 6, "a c": 1, "b c": 4 / 6}
    assert made["pairs"]["a b"]["blocks"] == [[1, 2, 1], [3, 3, 1]]
    assert made["sides"]["b"] == {
        **{"texts": RIGHT.splitlines(), "classes": programs.line_classes(RIGHT), "sources": None},
        **{"operations": "011100", "noise": "010000", "layers": []},
        "kinds": {"constant": 1, "tanh": 1, "add": 1},
    }


def test_what_is_no_operation_may_stand_opposite_its_like_and_counts_for_nothing():
    found = programs.matched(["#head", "add", None], ["#head", "mul", None])
    assert (found["blocks"], found["share"]) == ([[0, 0, 1]], 0)
    assert programs.flags(["#head", "add", None]) == "010"
    assert programs.matched([], [None])["share"] is None


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
    assert programs.line_classes(line) == [kind]


LAYER = ["dot", "add", "tanh", None, "dot", "multiply", "reduce"]


@pytest.mark.parametrize(
    ("keys", "layers"),
    [
        # What stands once is around the layers.
        (["gather", "add", *LAYER * 12, "dot"], [[2, len(LAYER), 12]]),
        # The shortest layer is the layer.
        ([*"abcdefgh" * 4], [[0, 8, 4]]),
        # Stages of several layers stand apart.
        ([*[*"abcdefgh"] * 3, "between", *[*"uvwxyz"] * 4], [[0, 8, 3], [25, 6, 4]]),
        # What is short or stands once is no layer.
        (["add", "add"] * 20, []),
        ([str(number) for number in range(50)], []),
        ([], []),
    ],
)
def test_layers_that_repeat(keys, layers):
    assert repeats(keys) == layers


# Optimised programs.


def test_an_optimised_program():
    """The entry stands first and what it calls after it, each line once. The operation that runs has the time."""
    emitted = [None, None, "ffn/in_torch.py:9"]
    made = programs.hlo_side(SMALL, emitted)
    columns = ("operations", "noise", "keys", "classes", "sources", "runs", "texts")
    rows = zip(*(made[name] for name in columns), strict=True)
    assert_snapshot("optimised.txt", "\n".join(" | ".join(map(str, row)) for row in (columns, *rows)))
    assert made["kinds"]["dot"] == 1 and "parameter" not in made["kinds"]
    short = programs.hlo_side(SMALL, emitted[:2])["sources"]
    assert "line 3 as emitted" in short and "ffn/in_jax.py:7" in short


def test_a_loop_runs_what_is_in_its_body():
    made = programs.hlo_side(LOOP)
    [at] = [at for at, line in enumerate(made["texts"]) if line.strip().startswith("%while")]
    assert made["classes"][at] is None
    assert {"while", "product", "copy.11", "add.1"} <= set(made["runs"][at])
    assert "convolution.3" not in made["runs"][at]


def test_equal_programs_are_equal_and_shapes_part_others():
    small, other = programs.hlo_side(SMALL), programs.hlo_side(OTHER)
    lines = len(small["texts"])
    assert programs.matched(small["keys"], small["keys"]) == {"blocks": [[0, 0, lines]], "share": 1}
    found = programs.matched(small["keys"], other["keys"])
    opposite = {
        small["texts"][left + line].strip(): other["texts"][right + line].strip()
        for left, right, size in found["blocks"]
        for line in range(size)
    }
    [product] = [line for line in opposite if line.startswith("%dot")]
    assert opposite[product].startswith("%dot.8 = ")
    # Of 9 operations of each the constant, the product, the reduction and its maximum.
    assert found["share"] == 8 / 18
    assert [one["operations"].count("1") for one in (small, other)] == [9, 9]


def test_a_text_that_is_no_module_is_refused():
    with pytest.raises(ValueError, match="expected the text of an HLO module"):
        programs.hlo_side("// no program: refused\n")
