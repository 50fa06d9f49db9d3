"""The distance of two cores is read without a core in use between readings, and an absent core ends no round."""

import os
import time

import pytest

from stackwars.measure.core_distance import CoreDistance


@pytest.fixture
def distance():
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("a distance needs two cores")
    with CoreDistance(cpus) as opened:
        yield opened


def test_readings_take_milliseconds_and_leave_this_thread_its_cores(distance):
    allowed, found = os.sched_getaffinity(0), []
    for _ in range(20):
        start = time.perf_counter()
        found.append(distance.read())
        if found[-1] is None:
            assert time.perf_counter() - start < 1
    read = [ns for ns in found if ns is not None]
    assert read and all(10 < ns < 1e5 for ns in read)
    assert os.sched_getaffinity(0) == allowed


def test_without_an_answer_there_is_no_distance(distance):
    distance._helper.kill()
    distance._helper.wait()
    assert distance.read() is None
