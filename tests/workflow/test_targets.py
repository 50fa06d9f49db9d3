"""Targets whose path names what the configuration does not have."""

from types import SimpleNamespace

import pytest

from stackwars.study.config import load
from stackwars.workflow import targets

CELL = {"device": "cpu", "framework": "jax", "workload": "gemm"}


def refused(**changes) -> str:
    with pytest.raises(targets.UnknownTarget) as error:
        targets.check(load(), SimpleNamespace(**CELL | changes))
    return str(error.value)


def test_what_is_configured_is_accepted():
    targets.check(load(), SimpleNamespace(**CELL))
    targets.check(load(), SimpleNamespace(framework="torch_xla+pretransposed_weights", workload="mha"))
    targets.check(load(), SimpleNamespace(compiler="jaxlib-0.7.1", target="tpu-v6e"))


@pytest.mark.parametrize(
    ("what", "came", "expected"),
    [("framework", "jaxx", "jax"), ("workload", "gem", "gemm, ffn"),
     ("target", "tpu-v7", "tpu-v6e"), ("compiler", "jaxlib-1", "jaxlib-0.7.1"),
     ("device", "tpux", "cpu, cpu-1t")],
)  # fmt: skip
def test_what_is_not_configured_is_refused_with_what_was_expected(what, came, expected):
    said = refused(**{what: came})
    assert said.startswith(f"target: {what}: expected one of {expected}") and f"got {came}; fix" in said


def test_device_that_a_framework_has_no_environment_for_is_refused():
    said = refused(framework="torch_xla", device="cuda")
    assert said.startswith("target: device of torch_xla: expected one of cpu, cpu-1t, tpu, got cuda")
