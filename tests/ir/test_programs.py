"""Counts and drawings of both frameworks' programs, made in the jax environment."""

import json
from pathlib import Path

import pytest

from running import run

FIXTURES = Path(__file__).parent / "fixtures"
DOT = "stablehlo.dot_general"

pytestmark = pytest.mark.env


@pytest.fixture(scope="module")
def probed(jax_python):
    return json.loads(run(jax_python, Path(__file__).with_name("probe.py")).stdout)


def test_counts_are_of_the_text(probed):
    for path in FIXTURES.glob("*.mlir"):
        text, found = path.read_text(), probed["metrics"][path.stem]
        assert found["operations_by_kind"].get(DOT, 0) == text.count("stablehlo.dot_general ")
        assert found["reshapes"] == text.count("stablehlo.reshape ")
        assert found["operations"] == sum(found["operations_by_kind"].values())


def test_what_is_no_program_says_so(probed):
    assert probed["odd"]["no_program"] == "oom, refused at build"
    assert "expected" in probed["odd"]["truncated"]


def test_a_drawing_has_a_box_for_each_operation_with_constants_in_their_readers(probed):
    assert probed["drawn"]["boxes"]["small"] == [
        [["arg0", "4\u00d73"], []],
        [["arg1", "3\u00d75"], []],
        [["dot_general", "over [1] x [0]", "4\u00d75"], [0, 1]],
        [["add(\u00b7, 1)", "4\u00d75"], [2]],
        [["maximum(\u00b7, 0)", "4\u00d75"], [3]],
        [["multiply", "4\u00d75"], [4, 4]],
        [["subtract", "4\u00d75"], [4, 5]],
        [["result", "4\u00d75"], [6]],
    ]


def test_operations_of_both_programs_stand_in_one_row_and_the_others_are_marked(probed):
    pairs = [ours.removeprefix("stablehlo.") for ours, theirs in probed["drawn"]["matched"] if ours == theirs]
    product = ["dot_general", "broadcast_in_dim", "add"]
    assert pairs == [*product, "maximum", *product, "result"]
    text = probed["drawn"]["text"]
    assert text.count("rank=same") == len(pairs)
    marked = [line for line in text.splitlines() if "filled" in line]
    assert len(marked) == 6 and all("reshape" in line or "transpose" in line for line in marked)


def test_a_program_that_cannot_be_drawn_is_a_note(probed):
    notes = {name: " ".join(boxes[0][0]) for name, boxes in probed["drawn"]["boxes"].items() if len(boxes) == 1}
    assert notes["no_program"] == "no program: oom, refused at build"
    assert "got stablehlo.if" in notes["branch"] and "expected" in notes["truncated"]
    alone = probed["drawn"]["alone"]
    assert "no program" in alone and "filled" not in alone and "rank=same" not in alone
