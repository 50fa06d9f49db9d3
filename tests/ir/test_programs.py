"""Normal form, canonical hash, numbers, structural claims and drawings of programs, made in the jax environment."""

import json
from pathlib import Path

import pytest
from spellings import DIFFERENT, SAME

from running import run

FIXTURES = Path(__file__).parent / "fixtures"
DOT = "stablehlo.dot_general"

pytestmark = pytest.mark.env


@pytest.fixture(scope="module")
def probed(jax_python):
    return json.loads(run(jax_python, Path(__file__).with_name("probe.py")).stdout)


def test_counts_are_of_the_text(probed):
    for path in FIXTURES.glob("*.mlir"):
        text, found = path.read_text(), probed["programs"][path.stem]["raw"]
        assert found["operations_by_kind"].get(DOT, 0) == text.count("stablehlo.dot_general ")
        assert found["reshapes"] == text.count("stablehlo.reshape ")
        assert found["operations"] == sum(found["operations_by_kind"].values())


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


@pytest.mark.parametrize(
    ("kind", "pair"), [*(("same", pair) for pair in SAME), *(("different", pair) for pair in DIFFERENT)]
)
def test_spellings_of_one_program_hash_the_same_and_other_programs_do_not(probed, kind, pair):
    one, other = probed[kind][pair]
    assert (one == other) == (kind == "same")


def test_all_these_programs_have_as_many_hashes_as_there_are_programs(probed):
    hashes = [pair[0] for pair in probed["same"].values()]
    assert len(set(hashes)) == len(hashes)


@pytest.mark.parametrize("workload", ["gemm", "conv", "ffn", "ffn_relu", "mha", "layernorm"])
def test_frameworks_give_the_same_program_of_a_single_product_alone(probed, workload):
    jax, torch = (probed["programs"][f"{workload}_{f}"] for f in ("jax", "torch_xla"))
    is_same = jax["normalised"]["canonical_hash"] == torch["normalised"]["canonical_hash"]
    assert is_same == (workload in ("gemm", "conv"))


def test_a_normalised_program_is_its_own_normal_form(probed):
    for name, found in probed["programs"].items():
        assert found["again"] == found["normalised"]["canonical_hash"], name


def test_moves_that_a_front_end_emitted_stay_calls_are_inlined_and_spellings_of_constants_gone(probed):
    raw, settled = (probed["programs"]["ffn_relu_torch_xla"][at] for at in ("raw", "normalised"))
    for key in ("reshapes", "transposes", "broadcasts", "layout_bytes", "depth"):
        assert raw[key] == settled[key], key
    assert (settled["reshapes"], settled["transposes"]) == (4, 2)
    raw, settled = (probed["programs"]["ffn_relu_jax"][at] for at in ("raw", "normalised"))
    assert raw["operations_by_kind"]["func.call"] == 1
    assert settled["operations_by_kind"] == {
        "stablehlo.add": 2,
        "stablehlo.broadcast_in_dim": 2,
        "stablehlo.dot_general": 2,
        "stablehlo.maximum": 1,
    }
    # Through the first product, its bias, the maximum, the second product, its bias.
    assert (settled["operations"], settled["depth"]) == (7, 5)
    # Both biases, broadcast in float32 to the results of the products; nothing else moves.
    assert settled["layout_bytes"] == 4 * (2 * 3 * 6 + 2 * 3 * 4)


def test_high_level_operations_of_each_level(probed):
    def kinds(name: str, level: str) -> dict[str, int]:
        return probed["programs"][name][level]["operations_by_kind"]

    assert "chlo.erfc" in kinds("ffn_jax", "raw")
    assert not any(kind.startswith("chlo.") for kind in kinds("ffn_jax", "normalised"))
    assert "stablehlo.custom_call" in kinds("ffn_torch_xla", "raw")
    assert "stablehlo.batch_norm_training" in kinds("layernorm_torch_xla", "normalised")


def test_a_loop_is_counted_once_and_normalised_inside(probed):
    raw, settled = probed["loop"]["raw"], probed["loop"]["normalised"]
    # compare, add, add, add, multiply and the loop; one of two equal additions goes.
    assert (raw["operations"], settled["operations"]) == (6, 5)
    # The loop, and in its body an addition and a multiplication.
    assert (raw["depth"], settled["depth"]) == (3, 3)


CLAIMS = {
    "gemm_jax": ("not applicable", "not applicable", "not applicable", "not applicable"),
    "conv_torch_xla": ("not applicable", "not applicable", "not applicable", "not applicable"),
    "ffn_jax": ("preserved", "not applicable", "not applicable", "explicit"),
    "ffn_torch_xla": ("flattened", "not applicable", "not applicable", "prepared"),
    "mha_jax": ("preserved", "not applicable", "combined", "explicit"),
    "mha_torch_xla": ("flattened", "not applicable", "combined", "prepared"),
    "gpt2_small_jax": ("preserved", "fine-grained", "combined", "prepared"),
    "gpt2_small_torch_xla": ("flattened", "high-level", "combined", "prepared"),
    "layernorm_jax": ("not applicable", "fine-grained", "not applicable", "not applicable"),
    "layernorm_torch_xla": ("not applicable", "high-level", "not applicable", "not applicable"),
    "ffn_torch_tpu": ("flattened", "not applicable", "not applicable", "prepared"),
    "layernorm_torch_tpu": ("not applicable", "fine-grained", "not applicable", "not applicable"),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_are_decided_by_the_program(probed, name):
    claims = probed["programs"][name]["claims"]
    assert list(claims) == ["flattening", "layernorm", "qkv", "contraction"]
    assert tuple(claims.values()) == CLAIMS[name]
    # Separate projections, and a root mean square that is no layer normalisation.
    claims = probed["separate"]["claims"]
    assert (claims["qkv"], claims["layernorm"]) == ("separate", "not applicable")
