"""The class of the operations of a StableHLO text."""

import pytest

from stackwars.report.line_class import line_classes


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]", "products"),
        ('%0 = "stablehlo.convolution"(%a, %b) {}', "products"),
        ("%0 = stablehlo.transpose %a, dims = [1, 0]", "transposes"),
        ("%0 = stablehlo.broadcast_in_dim %a, dims = [0]", "transposes"),
        ("%0 = stablehlo.dynamic_slice %a, %i, sizes = [1]", "transposes"),
        (
            "%0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1]",
            "reductions",
        ),
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
    assert line_classes(line) == [kind]
