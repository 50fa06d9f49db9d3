"""The limits that the child lives under."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stackwars.measure import limits

pytestmark = pytest.mark.alone

MIB = 2**20


def limited(code: str, cap: int) -> subprocess.CompletedProcess:
    """Run code as the supervisor runs a child."""
    parent = os.getpid()
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30,
        preexec_fn=lambda: limits.enter_child(cap, parent),
    )  # fmt: skip


def test_cap_in_gib():
    assert limits.cap_bytes(0.5) == 512 * MIB
    assert limits.cap_bytes(3) == 3 * 1024 * MIB


@pytest.mark.parametrize(("machine_gib", "cap_gib"), [(16, 12), (24, 18), (256, 32)])
def test_auto_cap(monkeypatch, machine_gib, cap_gib):
    monkeypatch.setattr(limits, "machine_memory_bytes", lambda: machine_gib * limits.GIB)
    assert limits.cap_bytes("auto") == cap_gib * limits.GIB


def test_machine_memory_is_what_the_kernel_says():
    kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert limits.machine_memory_bytes() == pytest.approx(1024 * kib, rel=0.01)


def test_memory_over_the_cap_is_refused_where_it_is_asked_for():
    done = limited("try: bytearray(2**30)\nexcept MemoryError: print('refused')", 256 * MIB)
    assert done.stdout == "refused\n"


def test_memory_under_the_cap_is_given():
    done = limited("print(len(bytearray(2**27)))", 256 * MIB)
    assert done.stdout == f"{2**27}\n"


def test_reservation_does_not_count():
    # Frameworks reserve far more than they use; PROT_NONE (0) is such a reservation.
    done = limited(
        "import mmap; mmap.mmap(-1, 2**34, flags=mmap.MAP_PRIVATE, prot=0); print('given')",
        256 * MIB,
    )
    assert done.stdout == "given\n"


def test_child_is_first_to_be_killed_leads_its_group_and_leaves_no_core():
    code = (
        "import os, resource; print(open('/proc/self/oom_score_adj').read().strip(),"
        " os.getpgid(0) == os.getsid(0) == os.getpid(), resource.getrlimit(resource.RLIMIT_CORE))"
    )
    assert limited(code, 256 * MIB).stdout == "1000 True (0, 0)\n"


def test_child_of_a_dead_parent_does_not_start():
    done = subprocess.run(
        [sys.executable, "-c", "print('started')"], capture_output=True, text=True,
        preexec_fn=lambda: limits.enter_child(256 * MIB, 1),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")


def test_resident_memory():
    block = b"\1" * (64 * MIB)
    assert limits.resident_bytes(os.getpid()) > len(block)


def test_a_process_that_is_gone():
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert limits.resident_bytes(gone.pid) == 0
    assert not limits.alive(gone.pid)
    assert limits.alive(os.getpid())


def test_kernel_counts_its_kills():
    assert limits.kernel_oom_kills() >= 0
