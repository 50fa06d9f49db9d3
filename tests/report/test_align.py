"""Which line of one program stands for which of another."""

from stackwars.report import align

LEFT = """func.func @main(%a: tensor<2x3xf32>) -> tensor<2xf32> {
%0 = stablehlo.tanh %a : tensor<2x3xf32>
%1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
%2 = stablehlo.add %1, %1 : tensor<3x2xf32>
return %2
}"""
RIGHT = """func.func @main(%x: tensor<2x3xf32>) -> tensor<2xf32> {
%c = "stablehlo.constant"() : () -> tensor<f32>
%5 = stablehlo.tanh %x : tensor<2x3xf32>
%6 = stablehlo.add %5, %5 : tensor<3x2xf32>
return %6
}"""


def test_lines_match_by_what_they_compute():
    pairs = align.aligned(LEFT, RIGHT)
    assert [pair for pair in pairs if None not in pair] == [(1, 2), (3, 3)]
    # Every line of both stands once, in its order.
    assert [left for left, _ in pairs if left is not None] == list(range(6))
    assert [right for _, right in pairs if right is not None] == list(range(6))


def test_share_is_of_the_operations_of_both():
    assert align.share(LEFT, RIGHT, align.aligned(LEFT, RIGHT)) == 4 / 6
    assert align.share(LEFT, LEFT, align.aligned(LEFT, LEFT)) == 1
    assert align.share("", "}", []) is None
