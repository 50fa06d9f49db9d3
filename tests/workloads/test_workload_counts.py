"""Counts worked out by hand, or known of the published models."""

import pytest

from stackwars.measure import workloads
from workloads.presets import FULL, SMALL, UPDATING

PARAMETERS = {
    "resnet50": 25_557_032 + 2 * 26_560,  # and mean and variance of 26,560 channels
    "bert_base": 109_482_240 - 768 * 769,  # without its pooler
    "gpt2_small": 124_439_808,
    "vit_b16": 86_567_656,
    "gpt_neo_1p3b": 1_315_575_808,
    "llama3_8b": 8_030_261_248,
}
"""Those of the published models. test_workload_builds.py counts what is built of every workload."""

FLOPS = {
    "gemm": 67_108_864,
    "ffn": 8_589_934_592,
    "mha": 2 * 128 * 768 * 4 * 768 + 2 * (2 * 2 * 64 * 64 * 768),
    "layernorm": 0,
    "conv": 7_398_752_256,
    "two_matmuls": 2 * 2 * 256 * 1024 * 2048,
    "elementwise_chain": 0,
    "mlp_postnorm": 8_589_934_592,  # as ffn: a quarter of the positions, twice as wide both ways
    "resnet50": 2 * 2 * 4_089_184_256,  # the published multiply-adds of an image
    "bert_base": 12 * (2 * 128 * (4 * 768**2 + 2 * 768 * 3072) + 4 * 2 * 64**2 * 768),
    "per_example_grad": 2 * 32 * (2 * 256 * 512 + 3 * 512 * 10),
    "moe": 2 * 512 * 256 * (8 + 8 * 2 * 1024),
    "moe_sorted": 2 * 512 * 256 * (8 + 2 * 2 * 1024),
    "attention_window": 2 * 1024 * 512 * 4 * 512 + 2 * (2 * 1024 * 1024 * 512),
    "attention_blocked": 2 * 1024 * 512 * 4 * 512 + 2 * (2 * 1024 * (2 * 128) * 512),
    "newton": 0,
    "scan_rnn": 256 * 2 * (2 * 16 * 256 * 256),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_the_full_size(name):
    assert workloads.load(name).parameter_count(FULL[name]) == PARAMETERS[name]


@pytest.mark.parametrize("name", FLOPS)
def test_flops_of_the_full_size(name):
    assert workloads.load(name).flops(FULL[name]) == FLOPS[name]


@pytest.mark.parametrize("name", [n for n in FULL if hasattr(workloads.load(n), "FORM_OF")])
def test_another_form_has_the_weights_of_the_first(name):
    module = workloads.load(name)
    assert module.parameters(FULL[name]) == workloads.load(module.FORM_OF).parameters(FULL[name])


@pytest.mark.parametrize("name", ["gpt2_small", "gpt_neo_1p3b", "llama3_8b"])
def test_flops_are_about_two_for_each_weight_and_token(name):
    """Kaplan et al., 2020, section 2.1: 2 N for each token, N without the embeddings."""
    module, sizes = workloads.load(name), FULL[name]
    weights = module.parameter_count(sizes)
    weights -= sizes["positions"] * sizes["hidden"] if name != "llama3_8b" else 0
    weights -= sizes["vocabulary"] * sizes["hidden"] if name == "llama3_8b" else 0
    assert module.flops(sizes) == pytest.approx(2 * weights * 2 * 64, rel=0.02)


def test_minimum_bytes_leave_out_the_rows_of_a_table_that_are_not_read():
    module, sizes = workloads.load("bert_base"), SMALL["bert_base"]
    unread = (100 - 16) * 32 + (16 - 8) * 32 + 32
    in_and_out = 16 + 16 * 32
    expected = 4 * (module.parameter_count(sizes) - unread + in_and_out)
    assert module.minimum_bytes(sizes) == expected


def test_the_chain_reads_every_element_once():
    module = workloads.load("elementwise_chain")
    assert module.minimum_bytes({"elements": 10_000_000}) == 40_000_004


@pytest.mark.parametrize("name", [name for name in FULL if name not in UPDATING])
def test_minimum_bytes_are_between_the_output_and_everything(name):
    module = workloads.load(name)
    for sizes in (FULL[name], SMALL[name]):
        arrays = module.inputs(sizes, 0).values()
        weights = 4 * module.parameter_count(sizes)
        assert module.minimum_bytes(sizes) > sum(array.nbytes for array in arrays)
        assert isinstance(module.flops(sizes), int)
        if module.KIND == "basic":
            assert module.minimum_bytes(sizes) > weights + sum(array.nbytes for array in arrays)


def test_newton_reads_the_matrix_and_the_systems_once():
    expected = 4 * (16 * 16 + 2 * 16 * 4)
    assert workloads.load("newton").minimum_bytes(SMALL["newton"]) == expected
