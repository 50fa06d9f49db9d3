"""Which operations of two programs take most time."""

import pytest

import hlo_pair
from stackwars.publish.report import pair
from stackwars.publish.report.align import form, hlo_side, side

PAIR = ("torch_xla", "jax")
JAX = "%0 = stablehlo.tanh %a : tensor<2xf32>\n%1 = stablehlo.add %0, %0 : tensor<2xf32>"
TORCH = """%0 = stablehlo.tanh %a : tensor<2xf32>
%1 = stablehlo.tanh %0 : tensor<2xf32>
%2 = stablehlo.exponential %1 : tensor<2xf32>"""


def call(framework: str, *timed: tuple, compiler: str = "an-xla") -> dict:
    return {"framework": framework, "compiler": compiler, "profile": {"operations": list(timed)}}


@pytest.fixture
def program():
    return {
        "forms": {
            "normalised": form({"jax": side(JAX), "torch_xla": side(TORCH)}),
            "optimised": {
                "compiler": "an-xla",
                **form({"jax": hlo_side(hlo_pair.SMALL), "torch_xla": hlo_side(hlo_pair.OTHER)}),
            },
        }
    }


def test_what_computes_the_same_stands_in_one_row_with_both_times_whatever_the_order_of_the_pair(program):
    calls = [call("jax", ["dot", "products", 1.0]), call("torch_xla", ["dot.8", "products", 3.0])]
    found = pair.largest_operations(program, calls, PAIR)
    assert found["matched"] and found["compiler"] == "an-xla"
    [row] = found["rows"]
    assert row["baseline"]["class"] == row["subject"]["class"] == "products"
    assert row["baseline"]["operation"].startswith("dot: dot f32[2,2]") and row["baseline"]["ms"] == 1.0
    assert row["subject"]["operation"].startswith("dot.8: dot f32[2,2]") and row["subject"]["ms"] == 3.0
    assert pair.largest_operations(program, calls, PAIR[::-1])["rows"] == [
        {"baseline": row["subject"], "subject": row["baseline"]}
    ]


def test_what_one_program_alone_has_stands_opposite_nothing_and_the_largest_come_first(program):
    calls = [
        call("jax", ["add_tanh_fusion", "elementwise", 5.0], ["dot", "products", 1.0]),
        call("torch_xla", ["dot.8", "products", 3.0]),
    ]
    rows = pair.largest_operations(program, calls, PAIR)["rows"]
    assert [row["baseline"]["class"] for row in rows] == ["elementwise", "products"]
    assert rows[0]["subject"] is None


def test_without_optimised_programs_the_largest_of_both_stand_beside_each_other_by_rank():
    calls = [
        call("jax", *([f"dot.{n}", "products", n] for n in range(12))),
        call("torch_xla", *([f"dot.{n}", "products", n + 0.5] for n in range(12))),
    ]
    found = pair.largest_operations(None, calls, PAIR)
    assert not found["matched"] and len(found["rows"]) == pair.MOST
    assert [(row["baseline"]["ms"], row["subject"]["ms"]) for row in found["rows"][:2]] == [
        (11, 11.5),
        (10, 10.5),
    ]


def test_operations_of_models_have_their_type_and_their_source():
    emitted = form({"jax": side(JAX, ["mha/in_jax.py:3", "mha/in_jax.py:4"]), "torch_xla": side(TORCH)})
    calls = [
        call("jax", ["fusion.1", "products", 2.0, "fusion f32[2]", 2]),
        call("torch_xla", ["dot.8", "products", 3.0, "dot f32[2]", 1], ["x", "products", 1.0]),
    ]
    rows = pair.largest_operations({"forms": {"as emitted": emitted}}, calls, PAIR)["rows"]
    assert rows[0]["baseline"]["operation"] == "fusion.1: fusion f32[2]"
    assert rows[0]["baseline"]["source"] == "mha/in_jax.py:4"
    assert rows[0]["subject"]["operation"] == "dot.8: dot f32[2]" and rows[0]["subject"]["source"] is None
    assert rows[1]["subject"]["operation"] == "x" and rows[1]["subject"]["source"] is None


def test_one_profile_alone_is_compared_with_nothing():
    assert pair.largest_operations(None, [call("jax", ["dot", "products", 1.0])], PAIR) is None
