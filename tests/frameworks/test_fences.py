"""A call of TensorFlow takes the time that the machine needs, also without a fence."""

import time

import numpy as np
import pytest

from frameworks.probe import SIZES
from frameworks.probed import probe
from stackwars.measure.peak import floor_ms
from stackwars.measure.workloads.ffn import WORKLOAD as ffn

pytestmark = [pytest.mark.env, pytest.mark.alone]
SIZE = SIZES["fences"]


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


@pytest.mark.parametrize("framework", ["tensorflow_xla", "tensorflow_graph"])
def test_synchronous_call_is_done_when_it_returns(floor, framework):
    found = probe(framework, "fences")
    assert 1e3 * min(found["fenced_s"], found["unfenced_s"]) >= floor
    assert found["unfenced_s"] > found["fenced_s"] / 2
