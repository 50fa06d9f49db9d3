"""Measure how long this process waits for a core, as the kernel counts it: see docs/protocol.md.

The run-queue wait of every thread is in /proc/self/task/*/schedstat (Documentation/scheduler/sched-stats.rst). The
kernel counts the time that others used of the cores (/proc/stat, proc(5)), and that the host took away, in steps of
10 ms, so it is known only for the full steady state. Standard library only: it runs in the process of a cell.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

_TASKS = "/proc/self/task"
_BUSY = (1, 2, 3, 6, 7)
"""Places of user, nice, system, irq and softirq time in a line of /proc/stat."""
_STEAL = 8
_STAT_BYTES = 2**16
"""Enough for the lines of a thousand cores."""
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
GATE = 0.02
"""A block is uncontended if its threads' wait share is at most this much over the cell's baseline."""
MAX_OTHER_PROCESSES_SHARE = 0.05
"""No block of a process is uncontended if others had a larger share of its cores in the steady state."""
SHARE_OF_A_WORKER = 0.01
"""A thread with less of the process's CPU time than this does not count as working."""


class Usage(NamedTuple):
    """Times of the threads of this process since the meter was last read, in ns of thread time.

    run: on a core; wait: runnable, in a queue; steal: taken by the host from the cores of this process
    (whichever process ran there; the kernel counts it in ticks of 10 ms, so a short block sees it late).
    """

    run: int
    wait: int
    steal: int


class Meter:
    """Reads what happened between two calls of `read`; a reading costs some microseconds a thread."""

    def __init__(self, cpus: set[int] | None = None) -> None:
        """cpus: the cores whose steal time counts; by default those that this process may use."""
        self._cpus = os.sched_getaffinity(0) if cpus is None else cpus
        self._files: dict[str, int] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self._steal = 0
        self._stat = os.open("/proc/stat", os.O_RDONLY)
        self.run_by_thread: dict[str, int] = {}
        self.read()
        self.run_by_thread.clear()
        self._began = time.perf_counter_ns(), sum(self._ticks())

    def read(self) -> Usage:
        """Return the usage since the last reading; all zero if the kernel has no such statistics."""
        now = self._threads()
        run = wait = 0
        for task, (ran, waited) in now.items():
            before = self._last.get(task, (0, 0))
            run += ran - before[0]
            wait += waited - before[1]
            self.run_by_thread[task] = self.run_by_thread.get(task, 0) + ran - before[0]
        self._last = now
        _, stolen = self._ticks()
        steal, self._steal = stolen - self._steal, stolen
        return Usage(run, wait, steal)

    def other_processes_share(self) -> float:
        """Return the share of the cores' time since the meter began that others had, other machines included.

        0 to 1, exact to some steps of 10 ms: busy and stolen time without the process's own.
        """
        self.read()
        began_ns, began = self._began
        others_ns = sum(self._ticks()) - began - sum(self.run_by_thread.values())
        available_ns = len(self._cpus) * (time.perf_counter_ns() - began_ns)
        return min(1.0, max(0.0, others_ns / available_ns))

    def workers(self) -> int:
        """Return how many threads had more than SHARE_OF_A_WORKER of the process's CPU time since the meter began."""
        total = sum(self.run_by_thread.values())
        return sum(ran > SHARE_OF_A_WORKER * total for ran in self.run_by_thread.values())

    def _threads(self) -> dict[str, tuple[int, int]]:
        result, listed = {}, os.listdir(_TASKS)  # noqa: PTH208 (a third of the time)
        for ended in self._files.keys() - listed:
            os.close(self._files.pop(ended))
        for task in listed:
            try:
                # The kernel itself updates the account only at ticks, 1 to 10 ms apart. This is the clock of a
                # thread's time on a core, as pthread_getcpuclockid(3) makes it.
                time.clock_gettime_ns(~int(task) << 3 | 6)
                if task not in self._files:
                    self._files[task] = os.open(f"{_TASKS}/{task}/schedstat", os.O_RDONLY)
                ran, waited, _ = os.pread(self._files[task], 100, 0).split()
            except OSError:  # the thread has ended since it was listed
                continue
            result[task] = int(ran), int(waited)
        return result

    def _ticks(self) -> tuple[int, int]:
        """Return busy and stolen time of the cores since the machine started, in ns."""
        text = os.pread(self._stat, _STAT_BYTES, 0).decode()
        busy = stolen = 0
        for line in text.splitlines():
            fields = line.split()
            cpu = fields[0][3:]
            if line.startswith("cpu") and cpu.isdigit() and int(cpu) in self._cpus:
                busy += sum(int(fields[place]) for place in _BUSY)
                stolen += int(fields[_STEAL])
        return busy * _TICK_NS, stolen * _TICK_NS


def wait_share(run_ns: int, wait_ns: int, steal_ns: int = 0) -> float:
    """Return the share, 0 to 1, of the threads' runnable time that they spent without a core."""
    without = wait_ns + steal_ns
    # Kernels that keep account of stolen time count it as neither run nor wait.
    return without / (run_ns + without) if run_ns + without else 0.0
