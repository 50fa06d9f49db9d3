"""The floor under every latency, and the machine's own best."""

import json
import os
import subprocess
import sys
import time

import pytest

from running import run
from stackwars.measure import peak
from stackwars.measure.peak import floor_ms

pytestmark = pytest.mark.alone

PEAK = {"gflop_per_s": 100.0, "copy_gb_per_s": 10.0, "last_cache_bytes": 10**6}


@pytest.mark.parametrize(
    ("flops", "size", "floor"),
    [
        (10 * 10**9, 10**6, 50.0),  # 10 GFLOP at twice 100 GFLOP/s
        (10**9, 10**9, 50.0),  # 1 GB at twice 10 GB/s, longer than its arithmetic
        (40 * 10**9, 10**9, 200.0),  # the larger of both
        (10**6, 2 * 10**6, 0.005),  # stays in the cache
        (10**6, 4 * 10**6, 0.2),
    ],
)
def test_floor_is_that_of_arithmetic_or_of_memory_traffic(flops, size, floor):
    assert floor_ms(flops, size, PEAK) == pytest.approx(floor)


def test_best_is_the_shortest_after_the_first():
    waits = iter([0.0, 0.05, 0.02, *[0.06] * 100])
    shortest = peak.best_s(lambda: time.sleep(next(waits)), 0.2)
    assert 0.02 <= shortest < 0.05


def test_last_cache_is_the_largest(monkeypatch, tmp_path):
    for number, size in enumerate(["48K", "2048K", "32M", "512K"]):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(f"{size}\n")
    monkeypatch.setattr(peak, "Path", lambda _: tmp_path)
    assert peak.last_cache_bytes() == 32 * 2**20
    monkeypatch.setattr(peak, "Path", lambda _: tmp_path / "gone")
    assert peak.last_cache_bytes() == 0, "the kernel does not say"


def peak_of(python, device: str, file) -> dict:
    """Measure the peak of a device for a moment; return what is written."""
    run(python, "-m", peak.__name__, device, file, "--seconds", "0.7")
    return json.loads(file.read_text())


@pytest.mark.env
def test_peak_is_at_least_what_numpy_reaches_and_a_busy_machine_s_is_more_than_half_of_it(jax_python, tmp_path):
    """Else the floor, at twice the peak, would refuse what was measured well."""
    cores = len(os.sched_getaffinity(0))
    quiet, one = (peak_of(jax_python, device, tmp_path / device / "peak.json") for device in ("cpu", "cpu-1t"))
    # Any processor of the last ten years is between these, for each of its cores.
    for found, device, used in ((quiet, "cpu", cores), (one, "cpu-1t", 1)):
        assert found["device"] == device and found["last_cache_bytes"] == peak.last_cache_bytes()
        assert 2 < found["gflop_per_s"] < 500 * used and 0.5 < found["copy_gb_per_s"] < 2000
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(1 + cores)]
    try:
        busy = peak_of(jax_python, "cpu", tmp_path / "busy.json")
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert busy["gflop_per_s"] > 0.5 * quiet["gflop_per_s"]
