"""A fence that does not fence is caught: by its latency, below what the machine can reach."""

import time

import numpy as np
import pytest

from frameworks.probe import SIZES
from frameworks.probed import probe
from stackwars.measure.peak import floor_ms
from stackwars.workloads.ffn import WORKLOAD as ffn

pytestmark = [pytest.mark.env, pytest.mark.alone]
SIZE = SIZES["fences"]
MUTANTS = (("jax", "none"), ("torch_xla", "none"), ("torch_xla", "dispatch only"))
SYNCHRONOUS = ("tensorflow_xla", "tensorflow_graph")


@pytest.fixture(scope="module")
def floor() -> float:
    """The FFN's floor on this machine in ms, from the rate of NumPy's matrix product."""
    matrix = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
    shortest = float("inf")
    for _ in range(6):
        start = time.perf_counter()
        np.matmul(matrix, matrix)
        shortest = min(shortest, time.perf_counter() - start)
    peak = {"gflop_per_s": 2 * 2048**3 / shortest / 1e9, "last_cache_bytes": 2**40}
    return floor_ms(ffn.flops(SIZE), ffn.minimum_bytes(SIZE), peak)


@pytest.mark.parametrize("framework", ["jax", "torch_xla", *SYNCHRONOUS])
def test_fenced_call_takes_the_time_that_the_machine_needs(floor, framework):
    assert 1e3 * probe(framework, "fences")["honest_s"] >= floor


@pytest.mark.parametrize(("framework", "mutant"), MUTANTS)
def test_fence_that_does_not_wait_is_too_fast(floor, framework, mutant):
    found = probe(framework, "fences")
    assert found["mutant_s"][mutant] < found["honest_s"] / 2
    assert 1e3 * found["mutant_s"][mutant] < floor


@pytest.mark.parametrize("framework", SYNCHRONOUS)
def test_synchronous_call_is_done_when_it_returns(floor, framework):
    found = probe(framework, "fences")
    assert 1e3 * found["mutant_s"]["none"] >= floor
    assert found["mutant_s"]["none"] > found["honest_s"] / 2
