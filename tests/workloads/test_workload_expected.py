"""The values that a workload expects, at the sizes of the smoke preset and at odd ones."""

import numpy as np
import pytest

from stackwars import workloads
from stackwars.measure.checks import relative_l2
from workloads.called import CALLS
from workloads.presets import BASIC, ODD, SEED, SMALL, UPDATING

LIMIT = 1e-5


def differ(one, other) -> float:
    """The largest relative L2 error of all outputs, and of what is updated."""
    pairs = [*zip(one[0], other[0], strict=True), *((value, other[1][name]) for name, value in one[1].items())]
    return max(relative_l2(np.asarray(a, np.float64), b) for a, b in pairs)


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


@pytest.mark.env
@pytest.mark.parametrize("place", [None, 0, 1], ids=["smoke", "odd1", "odd2"])
@pytest.mark.parametrize("framework", ["jax", "torch_eager"])
def test_frameworks_compute_what_is_expected(framework, place, called):
    found = called(framework, place)
    for name in BASIC:
        module, sizes = workloads.load(name), SMALL[name] if place is None else ODD[name][place]
        if framework in module.NO_FORM or name not in found:
            assert name == "newton_readback"
            continue
        outputs, state = module.expected(sizes, SEED, CALLS)
        mine = [found[name][f"output/{call}"] for call in range(CALLS)]
        leaves = {leaf: found[name][f"state/{leaf}"] for leaf in state}
        assert [one.shape for one in mine] == [one.shape for one in outputs]
        assert differ((mine, leaves), (outputs, state)) < LIMIT, name


@pytest.mark.env
@pytest.mark.parametrize("place", [0, 1], ids=["odd1", "odd2"])
@pytest.mark.parametrize("framework", ["torch_eager", "tensorflow_xla"])
def test_models_agree_at_odd_sizes(framework, place, called):
    found, baseline = called(framework, place), called("jax", place)
    for name in (name for name in found if name not in BASIC):
        for call in range(CALLS):
            mine, other = (one[name][f"output/{call}"] for one in (found, baseline))
            assert mine.shape == other.shape, name
            assert relative_l2(mine, other.astype(np.float64)) < LIMIT, name
