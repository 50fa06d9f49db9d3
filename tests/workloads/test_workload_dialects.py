"""Every workload in every framework: the same numbers, the expected ones, compiled once."""

import numpy as np
import pytest

from stackwars.measure import frameworks, workloads
from stackwars.measure.checks import relative_l2
from workloads.called import CALLS
from workloads.conftest import AT_ODD_SIZES, CHOSEN, FRAMEWORKS
from workloads.presets import BASIC, LIMIT, ODD, SEED, SMALL, UPDATING, differ, expected

pytestmark = pytest.mark.env
REFUSING = {
    "tensorflow_xla": "SIZES_FROM_VALUES", "torchax": "GRAPH_BREAKS", "torch_xla_dynamo": "DEVICE_LOOP",
}  # fmt: skip
"""Frameworks without a form of what has this attribute; which it is, is in `frameworks`."""


def baseline(called, name):
    """(outputs, state): of the reference, or JAX's if there is none."""
    if name in BASIC:
        return expected(name, CALLS)
    found = called("jax")[name]
    return [found[f"output/{call}"].astype(np.float64) for call in range(CALLS)], {}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_outputs_and_state_are_those_of_the_reference(called, framework):
    for name, found in called(framework).items():
        outputs, state = baseline(called, name)
        limit = 2e-6 if name in UPDATING else 1e-6
        for call, output in enumerate(outputs):
            assert found[f"output/{call}"].dtype == np.float32
            assert found[f"output/{call}"].shape == np.shape(output)
            assert relative_l2(found[f"output/{call}"], np.asarray(output)) < limit, (name, call)
        leaves = {what.removeprefix("state/") for what in found if what.startswith("state/")}
        assert leaves == state.keys(), name
        for leaf, value in state.items():
            assert relative_l2(found[f"state/{leaf}"], value) < 1e-5, (name, leaf)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_leaves_out_only_what_says_that_it_has_no_form(called, framework):
    dialect, found = frameworks.load(framework).DIALECT, called(framework)
    for name in CHOSEN.get(framework, SMALL):
        workload = workloads.load(name)
        assert workload.has_form(dialect), name
        if dialect in workload.NO_FORM:
            assert name not in found and len(workload.NO_FORM[dialect]) > 20
        elif name not in found:
            assert getattr(workload, REFUSING[framework]), name


@pytest.mark.parametrize("framework", ["jax", "torch_xla", "tensorflow_xla"])
def test_a_workload_is_compiled_in_its_first_call_and_torch_xla_executes_it_once_a_call(called, framework):
    for name, found in called(framework).items():
        if framework == "torch_xla" and workloads.load(name).GRAPH_BREAKS:
            # What it reads back decides what is compiled, and ends a program: of both there are several.
            assert found["compiles"][0] > 1 and found["executions"][0] > 1, name
            continue
        assert found["compiles"].tolist() == [1] * CALLS, name
        if framework == "torch_xla":
            assert found["executions"].tolist() == list(range(1, CALLS + 1)), name


def test_the_output_says_something(called):
    for name, found in called("torch_eager").items():
        output = found["output/0"]
        assert np.isfinite(output).all()
        assert relative_l2(output, found["output/1"].astype(np.float64)) > 1e-2, name
        if output.ndim:
            assert 0.05 < np.sqrt((output**2).mean()) < 20, name
            assert relative_l2(output[0], output[1].astype(np.float64)) > 0.05, name
            assert output.std() > 0.05, name


@pytest.mark.parametrize("framework", AT_ODD_SIZES)
def test_frameworks_compute_what_is_expected_at_odd_sizes(framework, called):
    found = called(framework, odd=True)
    for name in BASIC:
        module = workloads.load(name)
        if framework in module.NO_FORM or name not in found:
            assert name == "newton_readback"
            continue
        outputs, state = module.expected(ODD[name][0], SEED, CALLS)
        mine = [found[name][f"output/{call}"] for call in range(CALLS)]
        leaves = {leaf: found[name][f"state/{leaf}"] for leaf in state}
        assert [one.shape for one in mine] == [one.shape for one in outputs]
        assert differ((mine, leaves), (outputs, state)) < LIMIT, name


def test_models_agree_at_odd_sizes(called):
    found, baseline = called("torch_eager", odd=True), called("jax", odd=True)
    for name in (name for name in found if name not in BASIC):
        for call in range(CALLS):
            mine, other = (one[name][f"output/{call}"] for one in (found, baseline))
            assert mine.shape == other.shape, name
            assert relative_l2(mine, other.astype(np.float64)) < LIMIT, name
