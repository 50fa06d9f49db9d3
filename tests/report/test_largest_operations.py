"""Which operations of two programs take most time; test_document.py has those of a whole run."""

from made_tables import OLD
from report_fixture import PROGRAM
from stackwars.publish.report import operations

PAIR = ("torch_xla", "jax")


def call(framework: str, *timed: list) -> dict:
    return {"framework": framework, "compiler": OLD, "profile": {"operations": list(timed)}}


def test_the_largest_come_first_and_the_order_of_the_pair_changes_nothing_but_the_sides():
    calls = [
        call("jax", ["fusion", "elementwise", 5.0], ["dot.3", "products", 1.0]),
        call("torch_xla", ["dot.8", "products", 3.0]),
    ]
    found = operations.largest_operations(PROGRAM, calls, PAIR)
    assert found["matched"] and found["compiler"] == OLD
    largest, product = found["rows"]
    # What one program alone has stands opposite nothing.
    assert (largest["baseline"]["class"], largest["subject"]) == ("elementwise", None)
    assert (
        product["baseline"]["operation"].startswith("dot.3: dot f32[2,2]") and product["baseline"]["ms"] == 1.0
    )
    assert product["subject"]["operation"].startswith("dot.8: dot f32[2,2]") and product["subject"]["ms"] == 3.0
    assert operations.largest_operations(PROGRAM, calls, PAIR[::-1])["rows"] == [
        {"baseline": row["subject"], "subject": row["baseline"]} for row in found["rows"]
    ]


def test_without_optimised_programs_the_largest_of_both_stand_beside_each_other_by_rank():
    emitted = {"sides": {"jax": {"sources": ["mha/in_jax.py:3", "mha/in_jax.py:4"]}, "torch_xla": {}}}
    calls = [
        call(
            "jax",
            *(["dot", "products", float(n)] for n in range(11)),
            ["fusion.1", "products", 20.0, "f32[2]", 2],
        ),
        call("torch_xla", *(["dot", "products", n + 0.5] for n in range(12))),
    ]
    found = operations.largest_operations({"forms": {"as emitted": emitted}}, calls, PAIR)
    assert not found["matched"] and len(found["rows"]) == operations.MOST
    first, second = ([row[side] for side in ("baseline", "subject")] for row in found["rows"][:2])
    assert [one["ms"] for one in (*first, *second)] == [20.0, 11.5, 10.0, 10.5]
    assert (first[0]["operation"], first[0]["source"]) == ("fusion.1: f32[2]", "mha/in_jax.py:4")
    assert (first[1]["operation"], first[1]["source"]) == ("dot", None)
    assert operations.largest_operations(None, calls[:1], PAIR) is None
