"""Limits on the process of a cell: memory, time, and never outliving those who wait for it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from pathlib import Path

GIB = 2**30
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def machine_memory_bytes() -> int:
    """Physical memory of this machine, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def cap_bytes(memory_cap_gib: float | str) -> int:
    """The cap in bytes; `auto` is the smaller of 32 GiB and three quarters of the machine's memory."""
    if memory_cap_gib == "auto":
        return min(32 * GIB, machine_memory_bytes() * 3 // 4)
    return int(float(memory_cap_gib) * GIB)


def enter_child(cap: int, parent: int) -> None:
    """Between fork and exec of the child: cap its data, put it first in line to be killed, tie its life.

    RLIMIT_DATA refuses private writable memory over the cap, so an allocation fails where it can be
    told apart. RLIMIT_AS would count reservations that are never touched.
    """
    os.setsid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Path("/proc/self/oom_score_adj").write_text("1000")


def resident_bytes(pid: int) -> int:
    """Resident memory of a process in bytes, 0 once it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def kernel_oom_kills() -> int:
    """How many processes the kernel has killed for want of memory since it started."""
    for line in Path("/proc/vmstat").read_text().splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0


def alive(pid: int) -> bool:
    """Whether a process of this number exists and has not ended (a zombie has)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"
