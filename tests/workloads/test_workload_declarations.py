"""What every workload declares, and what is refused."""

import numpy as np
import pytest

from stackwars.measure import workloads
from stackwars.measure.workloads import base
from workloads.presets import CLASSES as NAMES
from workloads.presets import FULL, SMALL


def test_names_are_those_of_the_configuration_in_the_order_of_the_tables():
    assert list(SMALL) == NAMES
    orders = [workloads.load(name).ORDER for name in NAMES]
    assert orders == sorted({*orders})


def test_an_unknown_name_is_refused_with_the_names_that_are_known():
    for name in ("gem", "values"):  # the second is a module, and no workload
        with pytest.raises(ValueError, match=rf"gemm, ffn.*got '{name}'"):
            workloads.load(name)


def test_an_operation_that_a_dialect_lacks_is_named_with_the_file_that_may_have_it():
    with pytest.raises(
        AttributeError, match=r"xp.erf: expected an operation that numpy has; fix: .* in_numpy$"
    ):
        base.NUMPY.erf  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_every_workload_tells_the_same_things(name):
    module = workloads.load(name)
    assert SMALL[name].keys() == FULL[name].keys() == module.SIZES.keys()
    assert all(module.SIZES.values()) and module.TITLE and module.TABLE
    assert module.has_reference == (module.KIND == "basic")
    assert hasattr(module, "hf_config") == (module.KIND == "model")
    assert not module.FORM_OF or workloads.load(module.FORM_OF).SIZES == module.SIZES


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_seeded_and_have_the_batch(name):
    module, sizes = workloads.load(name), SMALL[name]
    first, again, other = (module.inputs(sizes, seed) for seed in (0, 0, 1))
    for key, array in first.items():
        assert array.dtype in (np.float32, np.int32)
        np.testing.assert_array_equal(array, again[key])
        if array.ndim:  # a position is no drawn value
            assert not np.array_equal(array, other[key])
    assert module.items(sizes) == next(iter(first.values())).shape[0]


def test_a_form_s_sources_are_its_module_and_that_which_builds_it():
    builders = ("stackwars.measure.workloads.in_torch", "stackwars.measure.workloads.hf_jax")
    assert workloads.sources("moe_sorted", "torch") == ["stackwars.measure.workloads.moe", builders[0]]
    assert workloads.sources("bert_base", "jax") == ["stackwars.measure.workloads.bert_base", builders[1]]
    assert workloads.sources("bert_base", "numpy") == ["stackwars.measure.workloads.bert_base"]
    assert workloads.file_of("moe_sorted@b8") == "src/stackwars/measure/workloads/moe.py"


def test_a_form_that_there_is_not_is_refused_with_the_reason():
    build = workloads.build("bert_base", "numpy")
    with pytest.raises(NotImplementedError, match="transformers has no NumPy form"):
        build(SMALL["bert_base"], 0, None)


TOO_LONG, UNEVEN = ({**SMALL["attention_window"], "window": window} for window in (17, 5))
REFUSED = [
    ("attention_window", TOO_LONG, r"window: expected at most the sequence, 16, got 17; fix: "),
    ("attention_blocked", TOO_LONG, r"window: expected at most the sequence, 16, got 17; fix: "),
    ("attention_blocked", UNEVEN, r"window: expected a divisor of the sequence, 16, got 5; fix: "),
    ("decode", {**SMALL["decode"], "past": 16}, r"past: expected fewer than positions, 16, got 16"),
]


@pytest.mark.parametrize(("name", "sizes", "message"), REFUSED)
def test_sizes_that_do_not_fit_each_other_are_refused(name, sizes, message):
    module = workloads.load(name)
    with pytest.raises(ValueError, match=message):
        module.inputs(sizes, 0)
    if name != "decode":
        with pytest.raises(ValueError, match=message):
            module.parameters(sizes)
