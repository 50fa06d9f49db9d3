"""The values that a workload expects, at odd sizes."""

import numpy as np
import pytest

from stackwars.measure import workloads
from workloads.presets import BASIC, LIMIT, ODD, SEED, SMALL, UPDATING, differ


@pytest.mark.parametrize("name", BASIC)
def test_values_are_of_both_sets_of_inputs_in_turn_or_of_one_call_that_updates(name):
    module, updates = workloads.load(name), name in UPDATING
    outputs, state = module.expected(SMALL[name], SEED)
    assert (len(outputs), bool(state)) == ((1, True) if updates else (2, False))
    assert all(array.dtype == np.float64 and array.size for array in (*outputs, *state.values()))
    first, second, third = module.expected(SMALL[name], SEED, 3)[0]
    assert differ(([second], {}), ([first], {})) > 1e-2
    if not updates:
        np.testing.assert_array_equal(third, first)


@pytest.mark.parametrize("name", BASIC)
def test_every_weight_counts_and_without_weights_every_input(name, monkeypatch):
    module, sizes = workloads.load(name), ODD[name][0]
    exact = module.expected(sizes, SEED)
    what = "weights" if module.parameters(sizes) else "inputs"
    values = getattr(module, what)(sizes, SEED)
    for changed in values:
        other = {**values, changed: values[changed] * np.float32(1.01)}
        monkeypatch.setattr(type(module), what, lambda *_, other=other: other)
        assert differ(module.expected(sizes, SEED), exact) > 3 * LIMIT, changed


@pytest.mark.parametrize("name", [name for name in BASIC if workloads.load(name).FORM_OF])
def test_another_form_computes_the_same(name):
    module = workloads.load(name)
    plain = workloads.load(module.FORM_OF)
    for one, other in zip(*(form.expected(SMALL[name], SEED)[0] for form in (module, plain)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
