"""Every workload in every dialect and in torch_xla: the same numbers."""

import numpy as np
import pytest

from stackwars import workloads
from workloads.expected import reference
from workloads.sizes import (
    NOT_IN_JAX,
    NOT_IN_TENSORFLOW,
    NOT_IN_TENSORFLOWS_XLA,
    NOT_IN_TORCHAX,
    SMALL,
)

pytestmark = pytest.mark.env
LIMIT = 1e-6
CHAIN = "elementwise_chain"


def relative_error(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def baseline(outputs, name):
    """What the other dialects are compared with: JAX's output, or the reference where JAX has no form."""
    if name in NOT_IN_JAX:
        return reference(name, SMALL[name])[2]
    return outputs["jax"][name].astype(np.float64)


@pytest.mark.parametrize("name", SMALL)
def test_torch_agrees_with_jax(outputs, name):
    expected = baseline(outputs, name)
    assert relative_error(outputs["torch"][name], expected) < LIMIT
    assert relative_error(outputs["xla"][name], expected) < LIMIT


@pytest.mark.parametrize("name", [name for name in SMALL if name not in NOT_IN_TENSORFLOW])
def test_tensorflow_agrees_with_jax_with_xla_and_without(outputs, name):
    expected = baseline(outputs, name)
    if name not in NOT_IN_TENSORFLOWS_XLA:
        assert relative_error(outputs["tensorflow_xla"][name], expected) < LIMIT
    assert relative_error(outputs["tensorflow_graph"][name], expected) < LIMIT


def test_torchax_agrees_with_jax_beyond_a_forward_pass(outputs):
    beyond = {name for name in SMALL if workloads.load(name).TABLE == "beyond"}
    assert outputs["torchax"].keys() == beyond - NOT_IN_TORCHAX
    for name, output in outputs["torchax"].items():
        assert relative_error(output, baseline(outputs, name)) < LIMIT, name


def test_tensorflow_and_jax_leave_out_what_they_have_no_form_of(outputs):
    assert SMALL.keys() - outputs["tensorflow_graph"].keys() == NOT_IN_TENSORFLOW
    assert SMALL.keys() - outputs["tensorflow_xla"].keys() == NOT_IN_TENSORFLOWS_XLA
    assert SMALL.keys() - outputs["jax"].keys() == NOT_IN_JAX


@pytest.mark.parametrize(
    "name",
    [n for n in SMALL if n not in NOT_IN_JAX and hasattr(workloads.load(n), "reference")],
)
def test_jax_agrees_with_the_reference(outputs, name):
    assert relative_error(outputs["jax"][name], reference(name, SMALL[name])[2]) < LIMIT


@pytest.mark.parametrize("name", [name for name in SMALL if name != CHAIN])
def test_the_output_says_something(outputs, name):
    output = outputs["torch" if name in NOT_IN_JAX else "jax"][name]
    assert np.isfinite(output).all()
    assert 0.05 < np.sqrt((output**2).mean()) < 20
    assert relative_error(output[0], output[1]) > 0.05
    assert output.std() > 0.05


def test_the_chain_gives_one_number(outputs):
    found = {kind: outputs[kind][CHAIN] for kind in ("jax", "torch", "xla")}
    assert {value.shape for value in found.values()} == {()}
    assert {value.dtype for value in found.values()} == {np.dtype(np.float32)}
