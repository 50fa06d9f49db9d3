"""Normal form, canonical hash, numbers and structural claims, found in the jax environment."""

import json
from pathlib import Path

import pytest
from spellings import DIFFERENT, SAME

from running import run

pytestmark = pytest.mark.env


@pytest.fixture(scope="module")
def probed(jax_python):
    return json.loads(run(jax_python, Path(__file__).with_name("levels_probe.py")).stdout)


@pytest.mark.parametrize("pair", SAME)
def test_two_spellings_of_one_program_hash_the_same(probed, pair):
    one, other = probed["same"][pair]
    assert one == other


@pytest.mark.parametrize("pair", DIFFERENT)
def test_two_programs_do_not(probed, pair):
    one, other = probed["different"][pair]
    assert one != other


def test_all_these_programs_have_as_many_hashes_as_there_are_programs(probed):
    hashes = [pair[0] for pair in probed["same"].values()]
    assert len(set(hashes)) == len(hashes)


@pytest.mark.parametrize("workload", ["gemm", "conv"])
def test_both_frameworks_give_the_same_program(probed, workload):
    jax, torch = (probed["programs"][f"{workload}_{f}"] for f in ("jax", "torch_xla"))
    assert jax["normalised"]["canonical_hash"] == torch["normalised"]["canonical_hash"]


@pytest.mark.parametrize("workload", ["ffn", "ffn_relu", "mha", "layernorm"])
def test_both_frameworks_give_different_programs(probed, workload):
    jax, torch = (probed["programs"][f"{workload}_{f}"] for f in ("jax", "torch_xla"))
    assert jax["normalised"]["canonical_hash"] != torch["normalised"]["canonical_hash"]


def test_a_normalised_program_is_its_own_normal_form(probed):
    for name, found in probed["programs"].items():
        assert found["again"] == found["normalised"]["canonical_hash"], name


def test_moves_that_a_front_end_emitted_stay(probed):
    raw, settled = (probed["programs"]["ffn_relu_torch_xla"][at] for at in ("raw", "normalised"))
    for key in ("reshapes", "transposes", "broadcasts", "layout_bytes", "depth"):
        assert raw[key] == settled[key], key
    assert (settled["reshapes"], settled["transposes"]) == (4, 2)


def test_calls_are_inlined_and_spellings_of_constants_gone(probed):
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


def test_high_level_operations_of_each_level(probed):
    kinds = {
        (name, at): set(found[at]["operations_by_kind"])
        for name, found in probed["programs"].items()
        for at in ("raw", "normalised")
    }
    assert "chlo.erfc" in kinds["ffn_jax", "raw"]
    assert not any(kind.startswith("chlo.") for kind in kinds["ffn_jax", "normalised"])
    assert "stablehlo.custom_call" in kinds["ffn_torch_xla", "raw"]
    assert "stablehlo.batch_norm_training" in kinds["layernorm_torch_xla", "normalised"]


def test_layout_bytes_are_those_of_what_is_written(probed):
    settled = probed["programs"]["ffn_relu_jax"]["normalised"]
    # Both biases, broadcast in float32 to the results of the products; nothing else moves.
    assert settled["layout_bytes"] == 4 * (2 * 3 * 6 + 2 * 3 * 4)


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


def test_separate_projections_and_a_root_mean_square_are_told_apart(probed):
    claims = probed["separate"]["claims"]
    assert (claims["qkv"], claims["layernorm"]) == ("separate", "not applicable")
