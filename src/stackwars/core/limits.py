"""Limits on a child process, and what the kernel reports: its memory, its end, who was killed for memory."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
from pathlib import Path

GIB = 2**30
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def machine_memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def available_memory_bytes() -> int:
    """Return the memory that a new process can have without swapping, in bytes."""
    [kib] = re.findall(r"^MemAvailable: +(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(kib) * 1024


def cap_bytes(memory_cap_gib: float | str) -> int:
    """Return the cap in bytes; `auto` is the smaller of 32 GiB and three quarters of the machine's memory."""
    if memory_cap_gib == "auto":
        return min(32 * GIB, machine_memory_bytes() * 3 // 4)
    return int(float(memory_cap_gib) * GIB)


def enter_child(cap: int, parent: int) -> None:
    """Cap the data of a child between its fork and exec, let the kernel kill it first, tie it to its parent.

    RLIMIT_DATA refuses private writable memory over the cap, so the failed allocation can be
    recognised. RLIMIT_AS would count reservations that are never touched.
    """
    os.setsid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Path("/proc/self/oom_score_adj").write_text("1000")


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes, 0 once it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def alive(pid: int) -> bool:
    """Return whether a process of this number exists and has not ended (a zombie has)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


class OomKills:
    """Whether the kernel has killed processes for memory since this object was created.

    The machine's count does not say which process it was. The count of this process's control group
    suffices, because the kernel kills a child first.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        """root: the folder with proc and sys."""
        lines = (root / "proc/self/cgroup").read_text().splitlines()
        groups = {names: path.lstrip("/") for _, names, path in (line.split(":", 2) for line in lines)}
        # Version 1, whose memory controller has a hierarchy of its own, or version 2.
        if "memory" in groups:
            counter = Path("memory", groups["memory"], "memory.oom_control")
        else:
            counter = Path(groups.get("", ""), "memory.events.local")
        self._machine, self._group = root / "proc/vmstat", root / "sys/fs/cgroup" / counter
        self._before = _count(self._machine), _count(self._group)

    def in_group(self) -> bool:
        """Return whether a process of this process's control group was killed."""
        return _count(self._group) > self._before[1]

    def on_machine(self) -> bool:
        return _count(self._machine) > self._before[0]


def _count(path: Path) -> int:
    """Return the number after `oom_kill` in a file of counters; 0 if there is none."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
