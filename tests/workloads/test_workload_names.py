import numpy as np
import pytest

from stackwars import workloads
from workloads.sizes import FULL, SMALL, UPDATING

NAMES = [
    *["gemm", "ffn", "ffn_relu", "mha", "layernorm", "conv"],
    *["two_matmuls", "elementwise_chain", "mlp_postnorm"],
    *["resnet50", "bert_base", "gpt2_small"],
    *["vit_b16", "gpt_neo_1p3b", "llama3_8b"],
    *["train_mlp", "train_transformer"],
    *["per_example_grad", "per_example_loop", "moe", "moe_sorted"],
    *["attention_window", "attention_blocked", "newton", "newton_readback"],
    *["scan_rnn", "unrolled_rnn", "decode"],
]

SIZES = SMALL | UPDATING


def test_names_come_in_the_order_of_the_tables():
    assert workloads.names() == NAMES
    tables = [workloads.load(name).TABLE for name in NAMES]
    counted = {"I": 6, "lecture": 3, "II": 3, "III": 3, "beyond": 13}
    assert tables == [table for table, count in counted.items() for _ in range(count)]


def test_an_unknown_name_is_refused_with_the_names_that_are_known():
    with pytest.raises(ValueError, match=r"gemm, ffn.*got 'gem'"):
        workloads.load("gem")


@pytest.mark.parametrize("name", NAMES)
def test_every_workload_tells_the_same_things(name):
    module = workloads.load(name)
    assert SIZES[name].keys() == module.SIZES.keys()
    assert name in UPDATING or FULL[name].keys() == module.SIZES.keys()
    assert all(module.SIZES.values())
    assert (
        hasattr(module, "reference") == (module.TABLE in ("I", "lecture", "beyond")) == (module.KIND == "basic")
    )
    assert hasattr(module, "hf_config") == (module.TABLE in ("II", "III")) == (module.KIND == "model")


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_seeded_and_have_the_batch(name):
    module, sizes = workloads.load(name), SIZES[name]
    first, again, other = (module.inputs(sizes, seed) for seed in (0, 0, 1))
    for key, array in first.items():
        assert array.dtype in (np.float32, np.int32)
        np.testing.assert_array_equal(array, again[key])
        if array.ndim:  # a position is no drawn value
            assert not np.array_equal(array, other[key])
    assert module.items(sizes) == next(iter(first.values())).shape[0]
