"""What a device's name means to the kernel and to the frameworks."""

import os

from stackwars.setup import device


def test_one_thread_is_the_last_core_of_those_allowed(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 3})
    assert device.cores("cpu-1t") == {5}
    for whole in ("cpu", "cuda", "tpu"):
        assert device.cores(whole) == {1, 3, 5}
        assert device.platform(whole) == whole
    assert device.platform("cpu-1t") == "cpu"


def test_thread_pools_are_told_of_one_thread_only():
    assert device.variables("cpu-1t") == {"OMP_NUM_THREADS": "1"}
    assert device.variables("cpu") == {}
