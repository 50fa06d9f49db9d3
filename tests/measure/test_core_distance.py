"""The distance of two cores is that of a cache line, and a reading that cannot be had ends no round."""

import os
import shutil
import signal
import time

import pytest

from stackwars.measure import core_distance
from stackwars.measure.core_distance import CoreDistance
from stackwars.setup import tools

CPUS = os.sched_getaffinity(0)
needs_two_cores = pytest.mark.skipif(
    len(CPUS) < 2 or not shutil.which(tools.cxx_compiler()), reason="needs two cores and a C++ compiler"
)


def stopped(distance: CoreDistance) -> float:
    """The seconds that a reading takes whose process does not answer."""
    os.kill(distance._reader.pid, signal.SIGSTOP)
    start = time.perf_counter()
    assert distance.read() is None
    return time.perf_counter() - start


@needs_two_cores
def test_a_line_takes_longer_than_a_store_and_less_than_a_system_call_of_a_busy_machine():
    with CoreDistance(CPUS) as distance:
        found = [distance.read() for _ in range(5)]
    assert all(10 < ns < 1e5 for ns in found)


@needs_two_cores
def test_cores_that_do_not_answer_are_given_up_once(monkeypatch):
    monkeypatch.setattr(core_distance, "PATIENCE_S", 0.2)
    with CoreDistance(CPUS) as distance:
        assert 0.2 <= stopped(distance) < 2
        start = time.perf_counter()
        assert distance.read() is None and time.perf_counter() - start < 0.1


def test_without_a_compiler_or_a_second_core_there_is_no_distance(monkeypatch, tmp_path):
    monkeypatch.setattr(core_distance.sys, "prefix", str(tmp_path))
    monkeypatch.setenv("CXX", "a-compiler-nobody-has")
    for cpus in (CPUS, {0}):
        with CoreDistance(cpus) as distance:
            assert distance.read() is None
    assert list(tmp_path.iterdir()) == []
