"""Which line of one program stands for which of another."""

from stackwars.report import align

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
    pairs = align.side_by_side(LEFT, RIGHT)["pairs"]
    assert [pair for pair in pairs if None not in pair] == [(1, 2), (3, 3)]
    # Every line of both stands once, in its order.
    assert [left for left, _ in pairs if left is not None] == list(range(6))
    assert [right for _, right in pairs if right is not None] == list(range(6))


def test_share_is_of_the_operations_of_both():
    found = align.side_by_side(LEFT, RIGHT)
    assert found["share"] == 4 / 6
    assert found["operations"] == ["011100", "011100"]
    assert align.side_by_side(LEFT, LEFT)["share"] == 1
    assert align.side_by_side("", "}")["share"] is None


def test_what_is_no_operation_may_stand_opposite_its_like_and_counts_for_nothing():
    found = align.matched(["#head", "add", None], ["#head", "mul", None])
    assert (found["pairs"][0], found["share"]) == ((0, 0), 0)
    assert found["operations"] == ["010", "010"]
