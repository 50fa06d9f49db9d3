"""Counts known of the published models, or worked out by hand. test_workload_builds.py compares all with XLA's."""

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


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_those_of_the_published_model(name):
    assert workloads.load(name).parameter_count(FULL[name]) == PARAMETERS[name]


def test_minimum_bytes_leave_out_the_rows_of_a_table_that_are_not_read():
    module, sizes = workloads.load("bert_base"), SMALL["bert_base"]
    unread = (100 - 16) * 32 + (16 - 8) * 32 + 32
    in_and_out = 16 + 16 * 32
    expected = 4 * (module.parameter_count(sizes) - unread + in_and_out)
    assert module.minimum_bytes(sizes) == expected


@pytest.mark.parametrize("name", [name for name in FULL if name not in UPDATING])
def test_minimum_bytes_are_of_weights_inputs_and_output(name):
    module = workloads.load(name)
    for sizes in (FULL[name], SMALL[name]):
        least = sum(array.nbytes for array in module.inputs(sizes, 0).values())
        if module.KIND == "basic":
            least += 4 * module.parameter_count(sizes)
        assert module.minimum_bytes(sizes) > least
