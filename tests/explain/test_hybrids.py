"""Regions, kinds and hybrids of two handmade programs."""

import re

import pytest

from explain.pairs import DOT, TRANSPOSE, one_class, program
from stackwars.explain.hybrids import A, B, CyclicChoiceError, Hybrids
from stackwars.explain.matching import AxisMap

TURN = AxisMap((6, 4), (1, 0), (4, 6))
BACK = AxisMap((4, 6), (1, 0), (6, 4))


def names(part):
    """Return side and name of the operations of a part."""
    return [("AB"[side], op.name.removeprefix("stablehlo.")) for side, op in part.ops]


def moved(part):
    """Return the names of all operations in a part's text."""
    return re.findall(r"stablehlo\.(\w+)\"", part.text)


@pytest.fixture
def product():
    """A is given the weight transposed, turns it, multiplies, adds; B is given it as it is used."""
    a, va = program(
        {"x": "2x4xf32", "w": "6x4xf32", "b": "2x6xf32"},
        [
            ("t", "transpose", ["w"], "4x6xf32", TRANSPOSE),
            ("y", "dot_general", ["x", "t"], "2x6xf32", DOT),
            ("z", "add", ["y", "b"], "2x6xf32"),
        ],
        ["z"],
    )
    b, vb = program(
        {"x": "2x4xf32", "w": "4x6xf32", "b": "2x6xf32"},
        [("y", "dot_general", ["x", "w"], "2x6xf32", DOT), ("z", "add", ["y", "b"], "2x6xf32")],
        ["z"],
    )
    weight = one_class([va["w"], va["t"]], [vb["w"]], {(A, va["w"]): BACK, (B, vb["w"]): TURN})
    same = [one_class([va[name]], [vb[name]]) for name in "xbyz"]
    return Hybrids((a, b), [same[0], weight, *same[1:]])


def test_without_a_choice_the_hybrid_is_the_program(product):
    part = product.hybrid([])
    assert names(part) == [("A", "transpose"), ("A", "dot_general"), ("A", "add")]
    assert all(side == A for side, _ in part.arguments)


def test_an_argument_in_the_other_layout_is_a_choice_and_all_choices_are_the_other_program(product):
    part = product.hybrid([1])
    assert moved(part) == ["dot_general", "add"]
    assert (B, product.classes[1].first[B]) in part.arguments
    assert "tensor<4x6xf32>" in part.text and "tensor<6x4xf32>" not in part.text
    part = product.hybrid(range(5))
    assert names(part) == [("B", "dot_general"), ("B", "add")]
    assert {side for side, _ in part.arguments} == {B}


def test_a_region_starts_at_the_first_values_of_other_classes(product):
    """The transposed weight is no cut: the transpose is what A does to multiply."""
    assert names(product.region(3, A)) == [("A", "transpose"), ("A", "dot_general")]
    assert names(product.region(3, B)) == [("B", "dot_general")]
    assert names(product.region(4, A)) == [("A", "add")]


def test_kinds_are_layouts_or_the_same_know_what_they_read_and_are_families(product):
    kinds = {kind.classes: kind for kind in product.kinds}
    assert kinds[1,].is_layout and not kinds[1,].is_same
    assert kinds[0,].is_same and kinds[4,].is_same
    assert not kinds[3,].is_layout and not kinds[3,].is_same
    layouts = {c for kind in product.layouts_read(kinds[3,]) for c in kind.classes}
    assert 1 in layouts and 2 not in layouts
    assert product.readers(1) == {kinds[3,].number}
    # Kinds that differ in shape alone are a family.
    assert product.family(kinds[1,]) == "layout (1, 0)"
    assert "lhs_contracting_dimensions = [1]" in product.family(kinds[3,])
    assert product.family(kinds[4,]) == f"kind {kinds[4,].number}"


def test_layers_are_one_kind():
    def model(op):
        lines = [(f"y{k}", op, ["x" if k == 0 else f"y{k - 1}"], "4xf32") for k in range(3)]
        return program({"x": "4xf32"}, [*lines, ("z", "negate", ["y2"], "4xf32")], ["z"])

    (a, va), (b, vb) = model("sine"), model("cosine")
    hybrids = Hybrids((a, b), [one_class([va[name]], [vb[name]]) for name in ("x", "y0", "y1", "y2", "z")])
    assert [kind.classes for kind in hybrids.kinds] == [(0,), (1, 2, 3), (4,)]
    assert [kind.is_same for kind in hybrids.kinds] == [True, False, True]


def test_a_copy_of_a_result_belongs_to_the_region_of_the_tensor():
    a, va = program(
        {"x": "4x6xf32"},
        [("y", "sine", ["x"], "4x6xf32"), ("t", "transpose", ["y"], "6x4xf32", TRANSPOSE),
         ("u", "transpose", ["t"], "4x6xf32", TRANSPOSE)],
        ["u"],
    )  # fmt: skip
    b, vb = program({"x": "4x6xf32"}, [("y", "sine", ["x"], "4x6xf32")], ["y"])
    hybrids = Hybrids(
        (a, b), [one_class([va["x"]], [vb["x"]]), one_class([va["y"], va["t"], va["u"]], [vb["y"]])]
    )
    assert names(hybrids.region(1, A)) == [("A", "sine"), ("A", "transpose"), ("A", "transpose")]
    assert names(hybrids.hybrid([1])) == [("B", "sine")]


def test_an_element_type_is_converted_at_the_border():
    a, va = program({"x": "4xf32"}, [("y", "sine", ["x"], "4xf32")], ["y"])
    b, vb = program({"x": "4xf64"}, [("y", "sine", ["x"], "4xf64")], ["y"])
    same = {(side, value): AxisMap.reshape((4,)) for side in (A, B) for value in range(2)}
    hybrids = Hybrids((a, b), [one_class([va[name]], [vb[name]], same) for name in "xy"])
    assert moved(hybrids.hybrid([1])) == ["convert", "sine", "convert"]


def test_opposite_orders_are_refused():
    a, va = program({"x": "4xf32"}, [("p", "sine", ["x"], "4xf32"), ("q", "cosine", ["p"], "4xf32")], ["q"])
    b, vb = program({"x": "4xf32"}, [("q", "sine", ["x"], "4xf32"), ("p", "cosine", ["q"], "4xf32")], ["p"])
    hybrids = Hybrids((a, b), [one_class([va["p"]], [vb["p"]]), one_class([va["q"]], [vb["q"]])])
    with pytest.raises(CyclicChoiceError):
        hybrids.hybrid([0])
