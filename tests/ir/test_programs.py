"""Counts and excerpts of both frameworks' programs, found in the jax environment."""

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


def test_projection_reaches_three_parts_and_leaves_the_rest(probed):
    for name in ("mha_jax", "mha_torch_xla"):
        lines = probed["projection"][name]
        assert sum("stablehlo.slice" in line for line in lines) == 3
        assert sum("stablehlo.dot_general" in line for line in lines) == 1
        assert not any("exponential" in line for line in lines)
        assert ", ...) ->" in lines[0]
    assert any("(tensor<2x3x8xf32>) -> tensor<6x8xf32>" in line for line in lines)


def test_gaps_account_for_every_operation(probed):
    for name in ("mha_jax", "mha_torch_xla"):
        lines = probed["projection"][name]
        left = sum(int(line.split()[2]) for line in lines if line.startswith("// ..."))
        shown = sum(line.startswith("%") for line in lines)
        constants = (FIXTURES / f"{name}.mlir").read_text().count("stablehlo.constant ")
        assert left + shown == probed["metrics"][name]["operations"] + constants


def test_names_are_those_of_the_whole_program(probed):
    source = (FIXTURES / "mha_torch_xla.mlir").read_text()
    for line in probed["projection"]["mha_torch_xla"]:
        assert not line.startswith("%") or line in source


def test_normalisation_keeps_callees_and_ends_with_the_shift(probed):
    jax, torch = (probed["normalisation"][f"layernorm_{f}"] for f in ("jax", "torch_xla"))
    assert sum(line.startswith("func.func") for line in jax) == 3
    assert any("batch_norm_training" in line for line in torch)
    for lines in (jax, torch):
        before_return = lines[next(i for i, x in enumerate(lines) if x.startswith("return")) - 1]
        assert "stablehlo.add" in before_return


def test_one_layer_is_cut_out_of_a_model(probed):
    for framework in ("jax", "torch_xla"):
        layer = probed["normalisation"][f"gpt2_small_{framework}"]
        assert layer[1].startswith("// ...") and layer[-2].startswith("// ...")
        assert not any("gather" in line or "call @" in line for line in layer)
        assert "stablehlo.add" in layer[-3]
        parts = probed["projection"][f"gpt2_small_{framework}"]
        assert sum("stablehlo.slice" in line for line in parts) == 3


def test_no_structure_is_an_error_that_says_what_was_expected(probed):
    assert "no combined projection" in probed["projection"]["gemm_jax"]
    assert "no combined projection" in probed["projection"]["ffn_torch_xla"]
    assert "no layer normalisation" in probed["normalisation"]["gemm_torch_xla"]


def test_whole_program_has_every_line(probed):
    for name in ("ffn_jax", "ffn_torch_xla", "ffn_relu_jax"):
        source = [line.strip() for line in (FIXTURES / f"{name}.mlir").read_text().splitlines()]
        kept = [line for line in probed["full_program"][name] if not line.startswith("//")]
        assert kept == [line for line in source if line and not line.startswith("sdy.")]


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
