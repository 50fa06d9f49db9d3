"""Every workload in every dialect and in torch_xla: the same numbers."""

import numpy as np
import pytest

from stackwars import workloads
from stackwars.workloads import values
from workloads.sizes import SMALL

pytestmark = pytest.mark.env
LIMIT = 1e-6
NOT_IN_TENSORFLOW = {"gpt_neo_1p3b", "llama3_8b"}
CHAIN = "elementwise_chain"


def relative_error(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize("name", SMALL)
def test_torch_agrees_with_jax(outputs, name):
    expected = outputs["jax"][name].astype(np.float64)
    assert relative_error(outputs["torch"][name], expected) < LIMIT
    assert relative_error(outputs["xla"][name], expected) < LIMIT


@pytest.mark.parametrize("name", [name for name in SMALL if name not in NOT_IN_TENSORFLOW])
def test_tensorflow_agrees_with_jax_with_xla_and_without(outputs, name):
    expected = outputs["jax"][name].astype(np.float64)
    assert relative_error(outputs["tensorflow_xla"][name], expected) < LIMIT
    assert relative_error(outputs["tensorflow_graph"][name], expected) < LIMIT


def test_tensorflow_leaves_out_what_it_has_no_form_of(outputs):
    assert SMALL.keys() - outputs["tensorflow_xla"].keys() == NOT_IN_TENSORFLOW


@pytest.mark.parametrize(
    "name", [name for name in SMALL if hasattr(workloads.load(name), "reference")]
)
def test_jax_agrees_with_the_reference(outputs, name):
    module, sizes = workloads.load(name), SMALL[name]
    weights = {key: values.leaf(key, s, 0) for key, s in module.parameters(sizes).items()}
    expected = module.reference(weights, module.inputs(sizes, 0))
    assert relative_error(outputs["jax"][name], expected) < LIMIT


@pytest.mark.parametrize("name", [name for name in SMALL if name != CHAIN])
def test_the_output_says_something(outputs, name):
    output = outputs["jax"][name]
    assert np.isfinite(output).all()
    assert 0.05 < np.sqrt((output**2).mean()) < 20
    assert relative_error(output[0], output[1]) > 0.05
    assert output.std() > 0.05


def test_the_chain_gives_one_number(outputs):
    found = {kind: outputs[kind][CHAIN] for kind in ("jax", "torch", "xla")}
    assert {value.shape for value in found.values()} == {()}
    assert {value.dtype for value in found.values()} == {np.dtype(np.float32)}
