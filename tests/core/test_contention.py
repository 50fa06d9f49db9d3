"""Waiting for a core is measured, and neither work nor anything else counts as waiting."""

import hashlib
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stackwars.core import contention
from stackwars.core.contention import GATE, Meter, wait_share

pytestmark = pytest.mark.alone

CORE = max(os.sched_getaffinity(0))
SPIN = f"import os, time; os.sched_setaffinity(0, {{{CORE}}})\nwhile time.process_time() < 2: pass"


@pytest.fixture
def pinned():
    """Pin this process to one core, as a cell of the one-thread device."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CORE})
    yield
    os.sched_setaffinity(0, allowed)


def work(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        hashlib.sha256(b"work").digest()


def measured(blocks: int, seconds: float) -> list[tuple[contention.Usage, float]]:
    """Return usage and ns of each block of work, read as a cell's blocks are."""
    meter, found = Meter(), []
    for _ in range(blocks):
        meter.read()
        start = time.perf_counter_ns()
        work(seconds)
        ns = time.perf_counter_ns() - start
        found.append((meter.read(), ns))
    return found


def test_block_that_had_the_core_to_itself_is_uncontended_and_all_run(pinned):
    # Shorter than the slice of time that the kernel gives: however busy this machine is, some are alone.
    # Shorter, too, than its ticks, at which alone it brings its account up to date unless it is asked to.
    found = measured(400, 0.001)
    alone = [(usage.run / ns, usage) for usage, ns in found if usage.wait == 0]
    assert len(alone) > 20
    assert all(wait_share(usage.run, usage.wait) <= GATE for _, usage in alone)
    # The host steals less than a tick at a time from some, and the kernel tells of whole ticks only.
    assert statistics.quantiles((share for share, _ in alone), n=20)[0] > 0.9
    assert statistics.median(share for share, _ in alone) < 1.3
    passed = sum(ns for _, ns in found)
    counted = sum(usage.run + usage.wait + usage.steal for usage, _ in found)
    assert counted > 0.9 * passed


def _hash_for(seconds: float) -> None:
    """Work without the interpreter's lock, so that two threads run at once."""
    data, end = bytes(2**20), time.perf_counter() + seconds
    while time.perf_counter() < end:
        hashlib.sha256(data).digest()


def test_run_time_of_every_thread_counts_and_workers_are_those_that_worked():
    begin, end = threading.Event(), threading.Event()

    def work_on() -> None:
        begin.wait()
        _hash_for(0.8)

    threads = [threading.Thread(target=target) for target in (end.wait, work_on, work_on)]
    for thread in threads:
        thread.start()
    meter = Meter()
    assert meter.workers() == 0, "nothing worked before anything ran"
    time.sleep(0.2)
    usage = meter.read()
    assert usage.run + usage.wait < 0.1e9, "time that nobody wanted is neither run nor wait"
    begin.set()
    start = time.perf_counter_ns()
    time.sleep(0.6)
    usage, ns = meter.read(), time.perf_counter_ns() - start
    end.set()
    for thread in threads:
        thread.join()
    # Two threads always want a core; the one that waited and this one next to never.
    assert 1.7 < (usage.run + usage.wait) / ns < 2.2
    assert meter.workers() == 2


def test_threads_that_end_take_nothing_back_and_leave_no_file_open():
    meter = Meter()
    opened = open_files()
    for _ in range(5):
        thread = threading.Thread(target=_hash_for, args=(0.03,))
        thread.start()
        usages = [meter.read()]
        thread.join()
        usages.append(meter.read())
        assert all(usage.run >= 0 and usage.wait >= 0 for usage in usages)
    time.sleep(0.1)  # the kernel lists a thread for a moment after it was joined
    meter.read()
    assert open_files() <= opened


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_steal_of_the_cores_of_this_process_alone_counts(tmp_path):
    meter = Meter(cpus={1, 10})
    stat = tmp_path / "stat"
    fields = "100 0 50 900 5 0 3"  # user nice system idle iowait irq softirq, then steal
    for steal in ((7, 5, 11), (9, 8, 15)):
        lines = [f"cpu{n} {fields} {s} 0 0" for n, s in zip((0, 1, 10), steal, strict=True)]
        stat.write_text("\n".join([f"cpu  {fields} 99 0 0", *lines, "intr 12345", ""]))
        os.close(meter._stat)
        meter._stat = os.open(stat, os.O_RDONLY)
        usage = meter.read()
    # Ticks of 10 ms: 3 more of core 1 and 4 of core 10.
    assert usage.steal == 7 * 10**9 // os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(("usage", "share"), [((0, 0, 0), 0.0), ((0, 10, 0), 1.0), ((60, 15, 25), 0.4)])
def test_share_of_the_time_wanted(usage, share):
    assert wait_share(*usage) == pytest.approx(share)


def test_neighbour_on_the_core_makes_this_process_wait_and_is_another_process(pinned):
    meter = Meter()
    work(0.4)
    alone = meter.other_processes_share()
    with subprocess.Popen([sys.executable, "-c", SPIN]) as neighbour:
        time.sleep(0.3)
        meter = Meter()
        found = measured(20, 0.02)
        contended = meter.other_processes_share()
        neighbour.kill()
    run, wait = (sum(getattr(usage, name) for usage, _ in found) for name in ("run", "wait"))
    assert wait_share(run, wait) > 0.3 and contended > 0.3
    assert alone < contended / 2
