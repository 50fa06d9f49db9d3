"""Normal form, canonical hash, numbers, structural claims and drawings of programs, made in the jax environment."""

import json
from pathlib import Path

import pytest
from spellings import DIFFERENT, SAME

from running import run
from snapshots import assert_snapshot

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


def test_a_drawing_marks_what_one_program_alone_has_and_a_program_that_cannot_be_drawn_is_a_note(probed):
    assert_snapshot("drawing.dot", probed["drawn"]["text"])
    notes, alone = probed["drawn"]["notes"], probed["drawn"]["alone"]
    assert notes["no_program"] == "no program: oom, refused at build"
    assert "got stablehlo.if" in notes["branch"] and "expected" in notes["truncated"]
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


def test_numbers_of_a_normalised_program(probed):
    settled = probed["programs"]["ffn_relu_jax"]["normalised"]
    # Through the first product, its bias, the maximum, the second product, its bias.
    assert (settled["operations"], settled["depth"]) == (7, 5)
    # Both biases, broadcast in float32 to the results of the products; nothing else moves.
    assert settled["layout_bytes"] == 4 * (2 * 3 * 6 + 2 * 3 * 4)


def test_a_loop_is_counted_once_and_normalised_inside(probed):
    raw, settled = probed["loop"]["raw"], probed["loop"]["normalised"]
    # compare, add, add, add, multiply and the loop; one of two equal additions goes.
    assert (raw["operations"], settled["operations"]) == (6, 5)
    # The loop, and in its body an addition and a multiplication.
    assert (raw["depth"], settled["depth"]) == (3, 3)


def test_numbers_and_claims_of_the_programs(probed):
    lines = []
    for name, found in probed["programs"].items():
        lines += [f"{name}: {', '.join(found['claims'].values())}"]
        for level in ("raw", "normalised"):
            numbers = {key: value for key, value in found[level].items() if key != "canonical_hash"}
            kinds = " ".join(f"{kind}={n}" for kind, n in numbers.pop("operations_by_kind").items())
            lines += [f"  {level}: " + " ".join(f"{key}={n}" for key, n in numbers.items()), f"    {kinds}"]
    assert_snapshot("programs.txt", "\n".join(lines))
    # Separate projections, and a root mean square that is no layer normalisation.
    claims = probed["separate"]["claims"]
    assert (claims["qkv"], claims["layernorm"]) == ("separate", "not applicable")
