"""Read what the kernel counts of this process's memory pages, by the standard library alone."""

from __future__ import annotations

import re
import resource
from pathlib import Path
from typing import NamedTuple

_HUGE = re.compile(r"^AnonHugePages: +(\d+) kB$", re.MULTILINE)


class Faults(NamedTuple):
    """Page faults of all threads: minor ones find the page in memory, major ones read it from the disk."""

    minor_faults: int
    major_faults: int

    def since(self, earlier: Faults) -> Faults:
        """Return the faults between an earlier reading and this one."""
        return Faults(self.minor_faults - earlier.minor_faults, self.major_faults - earlier.major_faults)


def faults() -> Faults:
    """Return the page faults of this process since its start."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Faults(usage.ru_minflt, usage.ru_majflt)


def huge_page_bytes(status: Path = Path("/proc/self/smaps_rollup")) -> int | None:
    """Return the bytes of anonymous memory in huge pages; None if the kernel does not say."""
    try:
        match = _HUGE.search(status.read_text())
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None
