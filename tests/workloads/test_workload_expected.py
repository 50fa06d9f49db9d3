"""The values that a workload expects, at the sizes of the smoke preset and at odd ones."""

import numpy as np
import pytest

from stackwars.measure import workloads
from stackwars.measure.checks import relative_l2
from workloads.presets import BASIC, LIMIT, ODD, SEED, SMALL, UPDATING, differ


@pytest.mark.parametrize("name", SMALL)
def test_what_has_no_reference_expects_nothing_and_the_others_values_of_both_sets_or_of_a_call(name):
    module, sizes = workloads.load(name), SMALL[name]
    found = module.expected(sizes, SEED)
    if name not in BASIC:
        assert found is None
        return
    outputs, state = found
    updates = name in UPDATING
    assert len(outputs) == (1 if updates else 2)
    assert bool(state) == updates
    assert all(array.dtype == np.float64 and array.size for array in (*outputs, *state.values()))
    first, second, third = module.expected(sizes, SEED, 3)[0]
    np.testing.assert_array_equal(first, outputs[0])
    assert relative_l2(second, first) > 1e-2
    if not updates:
        np.testing.assert_array_equal(second, outputs[1])
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
